//! DCCP ports of single tests: where a server receives in another way than usual.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Weak};

use whimbrel_net::{Config, Listener, NetError};

use super::DCCP_PORT;
use super::plan::Plan;

/// Opens ports.
#[derive(Debug)]
pub(super) struct Doors {
    listeners: Vec<Weak<Listener>>,
    config: Config,
    next: AtomicU16,
}

/// A test's port; closed when it is dropped. What came through it goes on.
#[derive(Debug)]
pub(super) struct Door {
    listeners: Vec<Weak<Listener>>,
    pub(super) port: u16,
    is_own: bool,
}

impl Doors {
    /// For `listeners`, which receive by `config` unless a test wants something else.
    pub(super) fn new(listeners: &[Arc<Listener>], config: Config) -> Self {
        let listeners = listeners.iter().map(Arc::downgrade).collect();
        Self { listeners, config, next: AtomicU16::new(0) }
    }
    /// A port for that test: the usual one, if it will do.
    ///
    /// # Errors
    /// There is none left, or the test's configuration makes no sense.
    pub(super) fn open(&self, plan: &Plan) -> Result<Door, NetError> {
        let mut door = Door { listeners: self.listeners.clone(), port: DCCP_PORT, is_own: false };
        if !plan.wants_own_port() {
            return Ok(door);
        }
        door.is_own = true;
        door.port = DCCP_PORT + 1 + self.next.fetch_add(1, Ordering::Relaxed) % (u16::MAX - DCCP_PORT);
        let config = plan.receiving(self.config.clone());
        for listener in self.listeners.iter().filter_map(Weak::upgrade) {
            listener.listen(door.port, config.clone())?;
        }
        Ok(door)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if self.is_own {
            for listener in self.listeners.iter().filter_map(Weak::upgrade) {
                listener.stop_listening(self.port);
            }
        }
    }
}
