"""A contestant that listens to losses alone: 3 % more in each step, half where more than 2 % are lost."""

from whimbrel import Feedback


class Controller:
    """Increases by a share, and halves."""

    rate = 300e3

    def on_feedback(self, feedback: Feedback) -> float:
        """The next rate in bit/s."""
        self.rate *= 0.5 if feedback.loss_rate > 0.02 else 1.03
        return self.rate
