"""A contestant that keeps the queue short: it grows near the least delay, and gives way otherwise."""

import math

from whimbrel import Feedback


class Controller:
    """Follows the queueing delay."""

    rate = 300e3
    least_s = math.inf

    def on_feedback(self, feedback: Feedback) -> float:
        """The next rate in bit/s."""
        if math.isnan(feedback.delay_s):
            return self.rate
        self.least_s = min(self.least_s, feedback.delay_s)
        queue_s = feedback.delay_s - self.least_s
        if queue_s > 0.06:
            self.rate = max(100e3, 0.9 * feedback.delivery_rate)
        elif queue_s < 0.03:
            self.rate *= 1.04
        return self.rate
