//! `whimbrelsink`: the end that connects.

use gst::glib;
use gst::prelude::*;

mod imp;
mod own;
mod port;
mod rate;

glib::wrapper! {
    /// `whimbrelsink`: carries the buffers of its pads to a listening end, `whimbrelsrc` or `whimbrel relay
    /// server`.
    pub struct Sink(ObjectSubclass<imp::Sink>)
        @extends gst::Bin, gst::Element, gst::Object,
        @implements gst::ChildProxy, gst::URIHandler;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "whimbrelsink", gst::Rank::MARGINAL, Sink::static_type())
}
