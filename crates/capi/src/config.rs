//! Configurations.

use std::ffi::{c_char, c_int, c_void};

use whimbrel_net::polled::{Paths, Protection};
use whimbrel_net::{
    Authorities, Ccid, Config, Duration, Fingerprint, HostOptions, Identity, MobilityConfig, OverflowPolicy,
    Role, Security, ServiceCode, Setup, SharedSecret, SocketOptions, Trust,
};

use crate::failure::Failure;
use crate::{failure, pointers};

/// The configuration of connections: the protocol, and the keys that secure them.
pub struct whimbrel_config {
    config: Config,
    pub(crate) receive_queue: Option<usize>,
    latency: Option<Duration>,
    paths: Paths,
    is_plaintext: bool,
    secret: Option<SharedSecret>,
    identity: Option<Identity>,
    pinned: Vec<Fingerprint>,
    authorities: Option<Authorities>,
}

impl whimbrel_config {
    /// The setup of an end with that role.
    pub(crate) fn setup(&self, role: Role) -> Result<Setup, Failure> {
        let trust = match (&self.authorities, &self.pinned[..]) {
            (None, []) => None,
            (None, pinned) => Some(Trust::Pinned(pinned.to_vec())),
            (Some(authorities), []) => Some(Trust::Authorities(authorities.clone())),
            (Some(_), _) => {
                return Err(Failure::config("trust in fingerprints and in authorities: expected one"));
            }
        };
        let has_keys = self.identity.is_some() || trust.is_some();
        let protection = match (self.is_plaintext, &self.secret, has_keys) {
            (true, None, false) => Protection::Plaintext,
            (false, Some(secret), false) => Protection::Secret(secret.clone()),
            (false, None, true) => {
                let (Some(identity), Some(trust)) = (&self.identity, trust) else {
                    return Err(Failure::config(
                        "expected both a key file and trust in the peer (fingerprints or authorities)",
                    ));
                };
                Protection::Keys(Security::new(identity.clone(), trust))
            }
            (false, None, false) => {
                return Err(Failure::config(
                    "nothing secures the connection: expected a secret, a key file and trust, or plaintext",
                ));
            }
            _ => {
                return Err(Failure::config("expected one of a secret, a key file and trust, and plaintext"));
            }
        };
        Ok(self.paths.setup(protection.setup(self.config.clone(), role).with_latency(self.latency)))
    }

    pub(crate) fn socket_options(&self) -> SocketOptions {
        let options = SocketOptions::default();
        options.receive_queue(self.receive_queue.unwrap_or(options.receive_queue))
    }

    pub(crate) fn host_options(&self) -> HostOptions {
        let options = HostOptions::default();
        options.receive_queue(self.receive_queue.unwrap_or(options.receive_queue))
    }
}

/// Changes a configuration.
///
/// # Safety
/// Same as [`pointers::object_mut`].
unsafe fn change(
    config: *mut whimbrel_config,
    change: impl FnOnce(&mut whimbrel_config) -> Result<(), Failure>,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        change(unsafe { pointers::object_mut(config, "config") }?).map(|()| 0)
    })
}

fn read(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::system(path, &error))
}

/// Makes a configuration with the defaults of the protocol. It is not complete before whimbrel_config_secret,
/// whimbrel_config_key_file with whimbrel_config_trust_..., or whimbrel_config_plaintext was called.
#[unsafe(no_mangle)]
pub extern "C" fn whimbrel_config_new() -> *mut whimbrel_config {
    failure::object(|| {
        Ok(whimbrel_config {
            config: Config::default(),
            receive_queue: None,
            latency: None,
            paths: Paths::default(),
            is_plaintext: false,
            secret: None,
            identity: None,
            pinned: Vec::new(),
            authorities: None,
        })
    })
}

/// Frees a configuration, which may be NULL. Sockets do not need it any more.
///
/// # Safety
/// Nothing uses the configuration any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_free(config: *mut whimbrel_config) {
    failure::number(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { pointers::free(config) });
        Ok(0)
    });
}

/// Secures nothing: data can be read and changed on the path, and anyone can connect.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_plaintext(config: *mut whimbrel_config) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.is_plaintext = true;
            Ok(())
        })
    }
}

/// Secures connections by a secret that both ends have: 20 random bytes or more. Both ends derive keys from
/// it; a passphrase could be guessed from recorded handshakes.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_secret(
    config: *mut whimbrel_config,
    secret: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.secret = Some(SharedSecret::new(pointers::bytes(secret.cast(), size, "secret")?)?);
            Ok(())
        })
    }
}

/// Authenticates this end by the private key in a file: PEM (PKCS #8) of the curve P-256 or P-384, as
/// `whimbrel key`, `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` and others make it.
/// certificate_path names the certificate that an authority has issued for it, or is NULL.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_key_file(
    config: *mut whimbrel_config,
    path: *const c_char,
    certificate_path: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let path = pointers::text(path, "path")?;
            let key = read(path)?;
            let identity = match certificate_path.is_null() {
                true => Identity::from_pem(&key),
                false => {
                    let certificate = read(pointers::text(certificate_path, "certificate_path")?)?;
                    Identity::from_pem_with_certificate(&key, &certificate)
                }
            };
            let identity = identity.map_err(|error| Failure::config(format!("{path}: {error}")))?;
            config.identity = Some(identity);
            Ok(())
        })
    }
}

/// Trusts the peer with that key: "SHA256:" and 43 characters. More calls trust more peers.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_trust_fingerprint(
    config: *mut whimbrel_config,
    fingerprint: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let fingerprint = pointers::text(fingerprint, "fingerprint")?;
            let parsed = fingerprint.parse::<Fingerprint>();
            config.pinned.push(parsed.map_err(|error| Failure::config(format!("{fingerprint}: {error}")))?);
            Ok(())
        })
    }
}

/// Trusts peers with a certificate of one of the authorities in a PEM file, for the host `name`, or for any
/// host if `name` is NULL.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_trust_authorities(
    config: *mut whimbrel_config,
    path: *const c_char,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let path = pointers::text(path, "path")?;
            let mut authorities = Authorities::from_pem(&read(path)?)
                .map_err(|error| Failure::config(format!("{path}: {error}")))?;
            if !name.is_null() {
                authorities = authorities.named(pointers::text(name, "name")?)?;
            }
            config.authorities = Some(authorities);
            Ok(())
        })
    }
}

/// Writes the fingerprint of the key of whimbrel_config_key_file, which peers trust, with a zero behind it:
/// 51 bytes.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_fingerprint(
    config: *const whimbrel_config,
    out: *mut c_char,
    size: usize,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let config = unsafe { pointers::object(config, "config") }?;
        let identity = config.identity.as_ref().ok_or_else(|| Failure::config("there is no key file"))?;
        // SAFETY: the caller's promise.
        unsafe { pointers::copy_text(&identity.fingerprint().to_string(), out, size, "out") }.map(|()| 0)
    })
}

/// Sets the Service Code (RFC 4340, Section 8.1.2), which names the application. Both ends need the same.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_service_code(config: *mut whimbrel_config, code: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.config.service_code = ServiceCode(code);
            Ok(())
        })
    }
}

/// Sets the congestion control of both directions: 2 is TCP-like (RFC 4341), 3 TFRC with a smooth rate (RFC
/// 4342), 4 TFRC for small packets (RFC 5622).
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_ccid(config: *mut whimbrel_config, ccid: u8) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let changed = config.config.clone().sender_ccids([Ccid(ccid)]).receiver_ccids([Ccid(ccid)]);
            changed.validate().map_err(|error| Failure::config(error.to_string()))?;
            config.config = changed;
            Ok(())
        })
    }
}

/// Limits the send queue to a number of datagrams and of bytes. If it is full, the oldest datagram is
/// dropped, or, if `refuse` is true, the new one is refused with WHIMBREL_AGAIN.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_send_queue(
    config: *mut whimbrel_config,
    datagrams: usize,
    bytes: usize,
    refuse: bool,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let overflow = if refuse { OverflowPolicy::Refuse } else { OverflowPolicy::DropOldest };
            let queue = config.config.send_queue;
            let queue = queue.max_datagrams(datagrams).max_bytes(bytes).overflow(overflow);
            let changed = config.config.clone().send_queue(queue);
            changed.validate().map_err(|error| Failure::config(error.to_string()))?;
            config.config = changed;
            Ok(())
        })
    }
}

/// Limits the number of received datagrams that wait for the application; beyond it the oldest is dropped.
/// The default is 4096.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_receive_queue(
    config: *mut whimbrel_config,
    datagrams: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.receive_queue = Some(datagrams);
            Ok(())
        })
    }
}

/// Sets the time after which a peer without any sign of life is given up. The default is a minute.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_idle_timeout(
    config: *mut whimbrel_config,
    timeout_ms: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            let mut changed = config.config.clone();
            changed.timers.idle = Some(Duration::from_millis(timeout_ms.into()));
            changed.validate().map_err(|error| Failure::config(error.to_string()))?;
            config.config = changed;
            Ok(())
        })
    }
}

/// Repairs lost datagrams, and delivers in order, at most `latency_ms` later than the fastest datagrams
/// arrive. Both ends need it; three to four round-trip times are enough, and the shorter latency of both
/// limits repair. Datagrams that are not repaired in time are lost. whimbrel_get_repair counts,
/// whimbrel_send_part names frames.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_latency(config: *mut whimbrel_config, latency_ms: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.latency = Some(Duration::from_millis(latency_ms.into()));
            Ok(())
        })
    }
}

/// Uses several paths at a time (MP-DCCP, RFC 9897) if the peer takes part, and one otherwise. `scheduler`
/// names what chooses the path of each datagram of this end: "lowest-rtt", "weighted", "redundant" (a copy on
/// every path), "cheapest-first", "coded" (refused without a latency) or "handover". A client has the
/// paths of whimbrel_config_add_path; a listener needs none, and accepts connections over one path as well.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_multipath(
    config: *mut whimbrel_config,
    scheduler: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| Ok(config.paths.set_scheduler(pointers::text(scheduler, "scheduler")?)?))
    }
}

/// Adds a path from a local address, such as "192.0.2.10", which should be one of an interface of its own.
/// The first one carries the handshake, and the others join afterwards. More calls add more paths. Of a
/// listener, it is a further address at which paths arrive.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_add_path(
    config: *mut whimbrel_config,
    local: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { change(config, |config| Ok(config.paths.add(pointers::text(local, "local")?)?)) }
}

/// Offers the peer to freeze the connection over outages, and moves of the client to other addresses. Both
/// ends have to offer them.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_config_mobile(config: *mut whimbrel_config) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        change(config, |config| {
            config.config.freeze = config.config.freeze.offer(true);
            config.config.mobility = Some(MobilityConfig::default());
            Ok(())
        })
    }
}
