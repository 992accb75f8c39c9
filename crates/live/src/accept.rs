//! Accepting TCP connections, and the places that they hold.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use whimbrel_units::Instant;

/// Time after which a connection is accepted again if one could not be.
const PAUSE: Duration = Duration::from_millis(100);

/// The next connection. One that failed before it was accepted is skipped; one for which the system has no
/// descriptor is tried again after a pause, as it would be reported again at once. Cancel safe.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// A number of places for connections. When all are held, a newcomer takes the oldest one of the source that
/// holds the most, so that a source can only shut out itself. A source is an IPv4 address, or a /64 network
/// of IPv6.
#[derive(Clone, Debug)]
pub struct Places {
    limit: usize,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    /// In the order of arrival.
    places: BTreeMap<u64, (u64, oneshot::Sender<()>)>,
}

/// A place, free again when dropped.
#[derive(Debug)]
pub struct Place {
    number: u64,
    held: Arc<Mutex<Held>>,
    taken: oneshot::Receiver<()>,
}

impl Places {
    /// Creates `limit` places.
    pub fn new(limit: usize) -> Self {
        Self { limit, held: Arc::default() }
    }

    /// A place for a connection from that address.
    pub fn take(&self, source: IpAddr) -> Place {
        let source = source_of(source);
        let (owner, taken) = oneshot::channel();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let number = held.next;
        held.next += 1;
        held.places.insert(number, (source, owner));
        if held.places.len() > self.limit {
            held.evict();
        }
        drop(held);
        Place { number, held: self.held.clone(), taken }
    }

    /// Like [`Places::take`], for work that is only given up to a source that would still have less of it:
    /// `None` if all are held, and no other source holds at least two places more.
    pub fn share(&self, source: IpAddr) -> Option<Place> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = held.counts();
        let own = counts.get(&source_of(source)).copied().unwrap_or(0);
        let is_full = held.places.len() >= self.limit;
        drop(held);
        let may_take = !is_full || counts.values().any(|count| *count >= own + 2);
        may_take.then(|| self.take(source))
    }
}

impl Held {
    /// The numbers of places, by source.
    fn counts(&self) -> BTreeMap<u64, usize> {
        let mut counts = BTreeMap::new();
        for (source, _) in self.places.values() {
            *counts.entry(*source).or_default() += 1;
        }
        counts
    }

    /// Takes the oldest place of the source that holds the most.
    fn evict(&mut self) {
        let counts = self.counts();
        let most = counts.values().max().copied().unwrap_or(0);
        let oldest = self.places.iter().find(|(_, (source, _))| counts.get(source) == Some(&most));
        if let Some(number) = oldest.map(|(number, _)| *number)
            && let Some((_, owner)) = self.places.remove(&number)
        {
            let _ = owner.send(());
        }
    }
}

impl Place {
    /// Returns when another connection has taken the place. Cancel safe.
    pub async fn taken(&mut self) {
        let _ = (&mut self.taken).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).places.remove(&self.number);
    }
}

/// The turns of sources at what one at a time can have. A source that had it while others were refused gives
/// them precedence.
#[derive(Debug, Default)]
pub struct Turns {
    /// The source that has it, or had it last.
    last: Option<u64>,
    has_refused_others: bool,
    /// Until then, it is for others.
    others_until: Instant,
}

impl Turns {
    /// Time for which others have precedence.
    const PRECEDENCE: Duration = Duration::from_secs(30);

    /// Begins the turn of a source. Returns the time to wait if other sources have precedence.
    pub fn begin(&mut self, now: Instant, source: IpAddr) -> Result<(), whimbrel_units::Duration> {
        let source = Some(source_of(source));
        if self.last == source && now < self.others_until {
            return Err(self.others_until - now);
        }
        (self.last, self.has_refused_others) = (source, false);
        Ok(())
    }

    /// Another client is refused meanwhile.
    pub fn refuse(&mut self, source: IpAddr) {
        self.has_refused_others |= self.last != Some(source_of(source));
    }

    /// Ends the turn.
    pub fn end(&mut self, now: Instant) {
        if self.has_refused_others {
            self.others_until = now + Self::PRECEDENCE.into();
        }
    }
}

/// The source to which an address belongs.
fn source_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        // ::/8 is no network of hosts.
        IpAddr::V4(address) => u64::from(u32::from(address)),
        IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fills_the_places_loses_its_own() {
        let places = Places::new(4);
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut viewer = places.take(address("192.0.2.1"));
        // One host of IPv6 has 2^64 addresses.
        let mut flood: Vec<Place> =
            (0..64).map(|host| places.take(address(&format!("2001:db8::{host:x}")))).collect();
        let mut second = places.take(address("192.0.2.2"));
        let held = |place: &mut Place| place.taken.try_recv() == Err(oneshot::error::TryRecvError::Empty);
        assert!(held(&mut viewer) && held(&mut second));
        let left = flood.iter_mut().map(held).collect::<Vec<_>>();
        assert_eq!(left.iter().filter(|held| **held).count(), 2, "{left:?}");
        assert!(left[62] && left[63], "{left:?}");
        drop(flood);
        assert_eq!(places.held.lock().expect("sound").places.len(), 2);
    }

    #[test]
    fn a_source_shares_with_those_that_have_less_and_keeps_its_last_place() {
        let places = Places::new(3);
        let [hog, second, third, fourth] = [1, 2, 3, 4].map(|host| IpAddr::from([192, 0, 2, host]));
        let mut held = Vec::from([(); 3].map(|()| places.share(hog).expect("room")));
        assert!(places.share(hog).is_none(), "it does not displace itself");
        let mut others = vec![places.share(second).expect("a place of the hog")];
        assert!(places.share(second).is_none(), "the hog would have less then");
        others.push(places.share(third).expect("a place of the hog"));
        assert!(places.share(fourth).is_none(), "each has one");
        let is_taken = |place: &mut Place| place.taken.try_recv().is_ok();
        assert_eq!(held.iter_mut().map(is_taken).collect::<Vec<_>>(), [true, true, false]);
        assert!(!others.iter_mut().any(is_taken));
    }

    #[test]
    fn a_source_that_kept_others_waiting_is_not_the_next() {
        let mut turns = Turns::default();
        let [hog, other] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        let at = Instant::from_secs;
        assert!(turns.begin(at(0), hog).is_ok());
        turns.refuse(hog);
        turns.end(at(10));
        assert!(turns.begin(at(10), hog).is_ok(), "nobody else wants it");
        turns.refuse(other);
        turns.end(at(20));
        assert_eq!(turns.begin(at(25), hog), Err(whimbrel_units::Duration::from_secs(25)));
        assert!(turns.begin(at(25), other).is_ok());
        turns.end(at(26));
        assert!(turns.begin(at(26), hog).is_ok(), "the other one had its turn");
        turns.refuse(other);
        turns.end(at(30));
        assert!(turns.begin(at(60), hog).is_ok(), "the others have not come");
    }
}
