//! The MPDUs of a transmission.

use whimbrel_units::{Duration, Instant};

use super::adaptation::Adaptive;
use super::turns::Account;
use super::{AccessCategory, Edca, TransmitRate};
use crate::aggregation::{AggregateLimits, BlockAck, DELIMITER_BYTES, Room, TransmitWindow};
use crate::frame::{Addressing, Frame, FrameKind, MacAddress};
use crate::phy::{ACK_BYTES, CTS_BYTES, Format, LONGEST_PPDU, RTS_BYTES, Rate};
use crate::random::Random;

/// Subtype of QoS data frames.
const QOS_DATA: u8 = 8;

/// The packets of one category for one receiver.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) receiver: MacAddress,
    pub(super) category: AccessCategory,
    pub(super) rate: TransmitRate,
    pub(super) limits: AggregateLimits,
    pub(super) window: TransmitWindow,
    /// The receiver is to learn where the window begins, or is to be asked what it has received.
    pub(super) owes_request: bool,
    /// Requests in a row without an answer. At the retry limit the next answered frame is awaited.
    pub(super) unanswered: u16,
    /// RTS in a row without a CTS.
    pub(super) missed_cts: u16,
    pub(super) account: Account,
    pub(super) adaptive: Option<Adaptive>,
    /// The packets are management messages.
    pub(super) is_management: bool,
    /// The receiver has gone to another station, and answers no request.
    pub(super) is_gone: bool,
    /// The receiver dozes: packets wait.
    pub(super) is_paused: bool,
}

impl Session {
    pub(super) fn new(
        receiver: MacAddress,
        category: AccessCategory,
        rate: TransmitRate,
        limits: AggregateLimits,
    ) -> Self {
        let window = TransmitWindow::default();
        Self {
            receiver,
            category,
            rate,
            limits,
            window,
            owes_request: false,
            unanswered: 0,
            missed_cts: 0,
            account: Account::NEW,
            adaptive: None,
            is_management: false,
            is_gone: false,
            is_paused: false,
        }
    }

    /// `true` if the receiver has agreed to block acknowledgements.
    pub(super) const fn is_agreed(&self) -> bool {
        self.limits.ampdu_bytes > 0
    }
}

impl<R: Random> Edca<R> {
    /// Rate of the response to a session's frames, of the RTS before them, and of requests for block
    /// acknowledgements.
    pub(super) fn control_rate(&self, session: usize) -> Rate {
        self.config.phy.response_rate(self.sessions[session].rate.reference())
    }

    /// Prepares MPDUs of a session whose transmission begins at `start`. With `end`, the transmission and its
    /// response are to be over by then; the first one of an opportunity may be longer if it has one MPDU
    /// alone. `false` if nothing fits.
    pub(super) fn prepare(
        &mut self,
        session: usize,
        start: Instant,
        end: Option<Instant>,
        is_first: bool,
    ) -> bool {
        let is_probe = self.choose_rate(start, session);
        let phy = &self.config.phy;
        let Session { receiver, category, rate, limits, is_management, .. } = self.sessions[session];
        let response = phy.response_rate(rate.reference());
        let answer = |bytes| phy.sifs + phy.duration(response, bytes);
        let block_answer = answer(BlockAck::frame_bytes(limits.window));
        let (acknowledgement, left) = (answer(ACK_BYTES), end.map(|end| end.saturating_since(start)));
        let mode = rate.mode();
        // VHT and HE have a delimiter even before an MPDU that goes alone.
        let extra = match mode.map(crate::phy::Mode::format) {
            None | Some(Format::Ht) => 0,
            Some(_) => DELIMITER_BYTES,
        };
        let single = match left.filter(|_| !is_first) {
            None => u32::MAX,
            Some(left) if left <= acknowledgement => 0,
            Some(left) => rate.largest_psdu(phy, left - acknowledgement).saturating_sub(extra),
        };
        let psdu = match (mode, left) {
            _ if is_probe => 0,
            (Some(mode), None) => limits.psdu_bytes(mode, LONGEST_PPDU),
            (Some(mode), Some(left)) => {
                let time = left.saturating_sub(block_answer + phy.signal_extension);
                limits.psdu_bytes(mode, if time < LONGEST_PPDU { time } else { LONGEST_PPDU })
            }
            (None, _) => 0,
        };
        let ppdu = &mut self.prepared;
        ppdu.mpdus.clear();
        ppdu.packets.clear();
        ppdu.identifier = category.identifier();
        let room = Room { mode, psdu, single };
        let window = &mut self.sessions[session].window;
        let length = window.build(&limits, room, &mut ppdu.mpdus, &mut ppdu.packets);
        let Some(first) = ppdu.mpdus.first() else { return false };
        let is_aggregate = ppdu.mpdus.len() > 1;
        let size = if is_aggregate { length } else { length + extra };
        let air_time = rate.duration(phy, size);
        let is_group = receiver.is_group();
        let response_time = if is_aggregate { block_answer } else { acknowledgement };
        let nav = if is_group { Duration::ZERO } else { response_time };
        ppdu.frame = Frame {
            receiver,
            transmitter: self.address,
            kind: match (is_management, is_aggregate) {
                (true, _) => FrameKind::Management,
                (false, true) => FrameKind::Aggregate,
                (false, false) => FrameKind::Data,
            },
            addressing: Addressing {
                subtype: QOS_DATA,
                identifier: ppdu.identifier,
                ..Addressing::default()
            },
            rate: rate.reference(),
            mode,
            is_retry: first.is_retry,
            sequence: first.sequence,
            size,
            air_time,
            nav: self.config.reserved(start + air_time, nav, end),
            payload: 0,
        };
        true
    }

    /// The time from the prepared MPDUs to the end of their response; zero for a group.
    pub(super) fn prepared_response(&self) -> Duration {
        let phy = &self.config.phy;
        let frame = &self.prepared.frame;
        let bytes = match frame.kind {
            _ if frame.receiver.is_group() => return Duration::ZERO,
            FrameKind::Aggregate => {
                let session = self.opportunity.map(|opportunity| &self.sessions[opportunity.session]);
                BlockAck::frame_bytes(session.map_or(0, |session| session.limits.window))
            }
            _ => ACK_BYTES,
        };
        phy.sifs + phy.duration(phy.response_rate(frame.rate), bytes)
    }

    /// The RTS before the prepared MPDUs.
    pub(super) fn rts(&self, session: usize) -> Frame {
        let phy = &self.config.phy;
        let data = &self.prepared.frame;
        let rate = self.control_rate(session);
        let nav = phy.sifs * 2 + phy.duration(rate, CTS_BYTES) + data.air_time + data.nav;
        self.control_frame(data.receiver, FrameKind::Rts, rate, RTS_BYTES, nav)
    }

    /// The time of an RTS and a CTS with the interframe spaces after them.
    pub(super) fn rts_time(&self, session: usize) -> Duration {
        let phy = &self.config.phy;
        let rate = self.control_rate(session);
        phy.duration(rate, RTS_BYTES) + phy.duration(rate, CTS_BYTES) + phy.sifs * 2
    }
}
