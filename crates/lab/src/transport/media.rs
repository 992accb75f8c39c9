//! Live media over RTP: an encoder whose rate a congestion control law sets, from reports of RFC 8888.
//!
//! The sender packs frames of the encoder into RTP packets and paces them; the receiver reports the arrival
//! time and the ECN field of each packet at a fixed interval. The laws are in [`whimbrel_control::media`].

mod content;
mod details;
mod encoder;
mod receiver;
mod repairing;
mod sender;

use whimbrel_scenario::ScenarioError;

pub use content::MediaContent;
pub use details::{Controller, Details, MediaKeys};
pub use receiver::MediaReceiver;
pub use sender::MediaSender;

use super::{FlowAgent, FlowSetup, FlowTransport, Repair, Transport};
use details::Settings;
use repairing::Repairing;

/// Media over RTP.
#[derive(Clone, Copy, Debug)]
pub struct Media;

impl Transport for Media {
    const NAME: &'static str = "media";
    const DESCRIPTION: &'static str =
        "RTP media whose encoder follows a congestion control law, with reports of RFC 8888.";
    const KEYS: &'static [&'static str] = &["media", "repair"];
    type Keys = MediaKeys;

    fn configure(&self, key: &str, keys: MediaKeys) -> Result<Box<dyn FlowTransport>, ScenarioError> {
        let repair = keys.repair;
        if let Some(repair) = &repair {
            repair.expect(key, &repairing::KINDS)?;
        }
        Ok(Box::new(MediaFlow { settings: keys.settings(key)?, repair }))
    }
}

/// A flow of media.
#[derive(Clone, Debug)]
pub struct MediaFlow {
    settings: Settings,
    repair: Option<Repair>,
}

/// Bytes of the headers of RTP, UDP and IPv4.
const HEADERS: u32 = 12 + 8 + 20;

impl FlowTransport for MediaFlow {
    fn scheme(&self) -> String {
        self.settings.name.to_owned()
    }

    fn headers(&self) -> u32 {
        HEADERS
    }

    fn ends(&self, flow: &FlowSetup<'_>) -> [FlowAgent; 2] {
        let [at_sender, at_receiver] = match &self.repair {
            Some(repair) => Repairing::pair(flow, repair).map(|end| Some(Box::new(end))),
            None => [None, None],
        };
        [
            MediaSender::new(flow, &self.settings, at_sender).into(),
            MediaReceiver::new(flow, self.settings.report_interval, at_receiver).into(),
        ]
    }

    fn records_frames(&self) -> bool {
        self.repair.is_some()
    }
}

#[cfg(test)]
mod tests;
