//! DCCP ports of single tests, for a server that receives with another configuration than usual.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Weak};

use whimbrel_net::{Listener, NetError, Setup};

use super::DCCP_PORT;
use super::plan::Plan;

/// Opens ports.
#[derive(Debug)]
pub(super) struct TestPorts {
    listeners: Vec<Weak<Listener>>,
    setup: Setup,
    next: AtomicU16,
}

/// A test's port; closed when it is dropped. Its connections continue.
#[derive(Debug)]
pub(super) struct TestPort {
    listeners: Vec<Weak<Listener>>,
    pub(super) port: u16,
    is_own: bool,
}

impl TestPorts {
    /// For `listeners`, which receive by `setup` unless a test requires another configuration.
    pub(super) fn new(listeners: &[Arc<Listener>], setup: Setup) -> Self {
        let listeners = listeners.iter().map(Arc::downgrade).collect();
        Self { listeners, setup, next: AtomicU16::new(0) }
    }

    /// A port for that test: the usual one, if possible.
    ///
    /// # Errors
    /// There is none left, or the test's configuration is invalid.
    pub(super) fn open(&self, plan: &Plan) -> Result<TestPort, NetError> {
        let mut port = TestPort { listeners: self.listeners.clone(), port: DCCP_PORT, is_own: false };
        if !plan.reception.is_special() {
            return Ok(port);
        }
        port.is_own = true;
        port.port = DCCP_PORT + 1 + self.next.fetch_add(1, Ordering::Relaxed) % (u16::MAX - DCCP_PORT);
        let setup = self.setup.clone().map_config(|config| plan.reception.applied_to(config));
        let setup = setup.with_latency(plan.reception.latency());
        for listener in self.listeners.iter().filter_map(Weak::upgrade) {
            listener.listen(port.port, setup.clone())?;
        }
        Ok(port)
    }
}

impl Drop for TestPort {
    fn drop(&mut self) {
        if self.is_own {
            for listener in self.listeners.iter().filter_map(Weak::upgrade) {
                listener.stop_listening(self.port);
            }
        }
    }
}
