//! The properties of the sink alone.

use gst::glib;
use gst::prelude::*;
use whimbrel_net::multipath::SchedulerKind;

use super::rate::{LEAST, MOST};

/// The properties of this end alone.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) law: String,
    pub(super) paths: Option<String>,
    pub(super) scheduler: String,
    pub(super) freezes: bool,
    pub(super) adapts: bool,
    pub(super) sync: bool,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            law: "tfrc".into(),
            paths: None,
            scheduler: SchedulerKind::default().name().into(),
            freezes: false,
            adapts: true,
            sync: true,
        }
    }
}

/// The properties.
pub(super) fn properties() -> Vec<glib::ParamSpec> {
    let default = Own::default();
    let bitrate = |name, nick, blurb, value| {
        let builder = glib::ParamSpecUInt::builder(name).nick(nick).blurb(blurb);
        builder.minimum(1).default_value(value).mutable_playing().build()
    };
    vec![
        glib::ParamSpecString::builder("law")
            .nick("Law")
            .blurb("Congestion control: tfrc, tcp-like, tfrc-sp, or an experiment: cubic, veno, westwood, prague, delay-aware")
            .default_value(Some(&*default.law))
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("paths")
            .nick("Paths")
            .blurb(
                "Use several paths at a time (MP-DCCP): names or addresses of network interfaces, separated by semicolons, as in \
                 wlan0;wwan0,cost=10",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("scheduler")
            .nick("Scheduler")
            .blurb("Chooses the path of each datagram, if there are several")
            .default_value(Some(&*default.scheduler))
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("freeze-on-link-loss")
            .nick("Freeze")
            .blurb("Freeze while there is no route to the other end, and follow the route to another address (Linux)")
            .mutable_ready()
            .build(),
        glib::ParamSpecUInt::builder("estimated-bitrate")
            .nick("Estimated bitrate")
            .blurb("The rate that encoders should have now, for all streams together, in bit/s; 0 while nothing is known")
            .read_only()
            .build(),
        bitrate("min-bitrate", "Minimum bitrate", "The least estimated bitrate, in bit/s", LEAST),
        bitrate("max-bitrate", "Maximum bitrate", "The largest estimated bitrate, in bit/s", MOST),
        glib::ParamSpecBoolean::builder("adapt-encoders")
            .nick("Adapt encoders")
            .blurb("Set the rate of the video encoders before this element, which share the estimated bitrate")
            .default_value(default.adapts)
            .mutable_playing()
            .build(),
        glib::ParamSpecBoolean::builder("sync")
            .nick("Sync")
            .blurb("Send at the time of the clock. What a live source produces can be sent at once: false")
            .default_value(default.sync)
            .mutable_playing()
            .build(),
    ]
}
