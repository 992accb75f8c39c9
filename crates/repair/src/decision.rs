//! The decision: how many coded packets go with a frame, and how many packets answer a request.
//!
//! A frame has `K` packets and must be whole at a deadline. Before it, the sender learns `k` times what is
//! missing and can answer: *rounds*. Codes are nearly ideal, so that the only state is `n`, the number of
//! packets that are missing: any `n` packets restore them. Losses between rounds are independent, within a
//! round they follow the [`Channel`](crate::channel::Channel).
//!
//! **Rounds.** With a price `c` per missed frame, counted in packets, the least expected cost with `l` rounds
//! left is
//!
//! ```text
//! W(0, n) = c if n > 0, else 0
//! W(l, n) = min over b of  b + sum over j of P(j of b packets arrive) W(l - 1, max(n - j, 0))
//! ```
//!
//! and the first transmission is the round in which at least `K` packets are sent with all `K` missing: what
//! is sent above is parity. The price at which the target is just met gives the cheapest plan that meets it;
//! since plans are discrete, two neighbouring plans are mixed ([`Plan`]). The last round gets much surplus
//! and the earlier ones next to none.
//!
//! **Window.** Where no round fits, parity after each frame covers all the frames that can still be in time.
//! The number of equations that are missing is a random walk that starts at zero, rises with each lost
//! packet, falls with each repair packet that arrives, and is never negative. A frame is missed if it lost a
//! packet and the walk does not return to zero within the window ([`window_missed`]). The least share of
//! parity is found by bisection. Nothing corrects a plan for an estimate that is too low: the plan is for the
//! cautious model ([`Estimator::cautious`](crate::channel::Estimator::cautious)).
//!
//! **Value.** A miss of the frame that begins a group costs all frames of the group. Inside a group a miss
//! costs half of them on average. A packet divides the misses by a factor, so that the least overhead at a
//! given number of frames that cannot be decoded has misses in inverse proportion to the value: the first
//! frame of a group has half of the target. By brute force over all shares this is within 2 % of the best.
//!
//! [`Planner`] compares the two, remembers what it computed, and computes again when the channel has changed.
//!
//! Parity never exceeds the source (RFC 6363, Section 8.2). Where no plan meets the target, the price is
//! limited, and [`Choice::missed`] states what remains.

mod planner;
mod rounds;
mod window;

pub use planner::{Choice, Planner, PlannerConfig};
pub use rounds::{Mix, Plan, Rounds};
pub use window::{WindowPlan, window_missed};
