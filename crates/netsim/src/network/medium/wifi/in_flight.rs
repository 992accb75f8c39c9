//! The frames that MACs have in service or on the air, by handle.

/// An item from its service at a MAC until its last transmission has ended everywhere.
struct Entry<T> {
    item: T,
    /// MACs that have it, or are to have it, in service.
    services: u32,
    /// Transmissions that have not ended at all receivers.
    on_air: u32,
}

/// Items in service or on the air, by handle. Handles of items that are done are used again.
pub(super) struct InFlight<T> {
    slots: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> InFlight<T> {
    /// Stores an item for the service at a MAC, and returns its handle.
    pub(super) fn insert(&mut self, item: T) -> u64 {
        let entry = Some(Entry { item, services: 1, on_air: 0 });
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                u64::from(slot)
            }
            None => {
                self.slots.push(entry);
                self.slots.len() as u64 - 1
            }
        }
    }

    fn entry(&mut self, handle: u64) -> Option<&mut Entry<T>> {
        self.slots.get_mut(handle as usize)?.as_mut()
    }

    pub(super) fn get(&self, handle: u64) -> Option<&T> {
        self.slots.get(handle as usize)?.as_ref().map(|entry| &entry.item)
    }

    pub(super) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        self.entry(handle).map(|entry| &mut entry.item)
    }

    /// A further MAC is to send the item.
    pub(super) fn add_service(&mut self, handle: u64) {
        if let Some(entry) = self.entry(handle) {
            entry.services += 1;
        }
    }

    /// A transmission begins that ends later.
    pub(super) fn begin_transmission(&mut self, handle: u64) {
        if let Some(entry) = self.entry(handle) {
            entry.on_air += 1;
        }
    }

    /// A transmission has ended at all stations. Returns the item if nothing refers to it any more.
    pub(super) fn end_transmission(&mut self, handle: u64) -> Option<T> {
        self.entry(handle)?.on_air -= 1;
        self.take_if_done(handle)
    }

    /// A MAC is done with the item. Returns it if nothing refers to it any more.
    pub(super) fn end_service(&mut self, handle: u64) -> Option<T> {
        self.entry(handle)?.services -= 1;
        self.take_if_done(handle)
    }

    fn take_if_done(&mut self, handle: u64) -> Option<T> {
        let slot = self.slots.get_mut(handle as usize)?;
        let entry = slot.take_if(|entry| entry.services == 0 && entry.on_air == 0)?;
        self.free.push(handle as u32);
        Some(entry.item)
    }
}
