//! A choice of paths that holds for both roles.

use std::net::{IpAddr, SocketAddr};

use crate::multipath::{MultipathConfig, SchedulerKind};
use crate::{NetError, Setup};

/// The paths of connections, as applications choose them by texts.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    locals: Vec<SocketAddr>,
    scheduler: Option<SchedulerKind>,
}

impl Paths {
    /// Adds a path from a local address, such as `192.0.2.10`, `192.0.2.10:6512` or `2001:db8::10`.
    ///
    /// # Errors
    /// The text is no address.
    pub fn add(&mut self, local: &str) -> Result<(), NetError> {
        let parsed = local.parse().or_else(|_| local.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0)));
        let expected = |_| NetError::Config(format!("{local}: expected a local address, such as 192.0.2.10"));
        self.locals.push(parsed.map_err(expected)?);
        Ok(())
    }

    /// Sets the scheduler, which chooses the path of each datagram of this end, by its
    /// [name](SchedulerKind::name). Several paths are then used, whether any is added or not.
    ///
    /// # Errors
    /// There is no such scheduler.
    pub fn set_scheduler(&mut self, name: &str) -> Result<(), NetError> {
        let names = SchedulerKind::ALL.map(SchedulerKind::name).join(", ");
        let expected = || NetError::Config(format!("scheduler {name:?}: expected one of {names}"));
        self.scheduler = Some(SchedulerKind::from_name(name).ok_or_else(expected)?);
        Ok(())
    }

    /// The same setup over these paths; as it is if none was chosen.
    pub fn setup(&self, setup: Setup) -> Setup {
        if self.locals.is_empty() && self.scheduler.is_none() {
            return setup;
        }
        let settings = MultipathConfig::default().scheduler(self.scheduler.unwrap_or_default());
        setup.over_paths(self.locals.iter().copied(), settings)
    }
}
