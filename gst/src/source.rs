//! `whimbrelsrc`: the end that listens.

use gst::glib;
use gst::prelude::*;

mod imp;
mod inlet;
mod port;

glib::wrapper! {
    /// `whimbrelsrc`: has the datagrams of a connecting end, `whimbrelsink` or `whimbrel relay client`.
    pub struct Source(ObjectSubclass<imp::Source>)
        @extends gst::Bin, gst::Element, gst::Object,
        @implements gst::ChildProxy, gst::URIHandler;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "whimbrelsrc", gst::Rank::MARGINAL, Source::static_type())
}
