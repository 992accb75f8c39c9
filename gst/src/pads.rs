//! The pads of both elements: each is a port of the connection, and has an element of its own in the bin.

use std::collections::BTreeMap;

use gst::prelude::*;
use whimbrel_relay::MAX_PORTS;

/// The pads of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pads {
    direction: gst::PadDirection,
    /// The name of the pad of the first port, which is also the template's name.
    first: &'static str,
    /// The names of the others, as a template.
    others: &'static str,
}

impl Pads {
    pub(crate) const SINK: Self =
        Self { direction: gst::PadDirection::Sink, first: "sink", others: "sink_%u" };
    pub(crate) const SOURCE: Self =
        Self { direction: gst::PadDirection::Src, first: "src", others: "src_%u" };

    /// The templates. They take any caps: with application/x-rtp, the relay knows more of the stream.
    pub(crate) fn templates(self) -> Vec<gst::PadTemplate> {
        let any = gst::Caps::new_any();
        let first = gst::PadTemplate::new(self.first, self.direction, gst::PadPresence::Always, &any);
        let others = gst::PadTemplate::new(self.others, self.direction, gst::PadPresence::Request, &any);
        [first, others].into_iter().flatten().collect()
    }

    /// Marks a bin as a sink or a source by the direction of its pads, and removes the marks of their
    /// elements.
    pub(crate) fn mark(self, bin: &(impl IsA<gst::Bin> + IsA<gst::Element>)) {
        let is_sink = self.direction == gst::PadDirection::Sink;
        bin.set_suppressed_flags(gst::ElementFlags::SINK | gst::ElementFlags::SOURCE);
        bin.set_element_flags(if is_sink { gst::ElementFlags::SINK } else { gst::ElementFlags::SOURCE });
    }

    fn name(self, number: u8) -> String {
        if number == 0 { self.first.to_owned() } else { self.others.replace("%u", &number.to_string()) }
    }

    /// The requested port: the one in the name or, without a name, the first free one.
    pub(crate) fn requested<P>(self, name: Option<&str>, ports: &BTreeMap<u8, P>) -> Option<u8> {
        let number = match name {
            Some(name) => {
                name.strip_prefix(self.first)?.strip_prefix('_')?.parse().ok().filter(|it| *it < MAX_PORTS)?
            }
            None => (0..MAX_PORTS).find(|it| !ports.contains_key(&(*it as u8)))?,
        };
        u8::try_from(number).ok().filter(|number| !ports.contains_key(number))
    }

    /// The port of a pad that was requested.
    pub(crate) fn number_of(self, pad: &gst::Pad) -> Option<u8> {
        pad.name().strip_prefix(self.first)?.strip_prefix('_')?.parse().ok()
    }

    /// Adds the element of a port, whose pad is `inner`, to a bin, and its pad.
    pub(crate) fn add(
        self,
        bin: &(impl IsA<gst::Bin> + IsA<gst::Element>),
        port: &impl IsA<gst::Element>,
        inner: &gst::Pad,
        number: u8,
    ) -> Option<gst::Pad> {
        let template = bin.pad_template(if number == 0 { self.first } else { self.others })?;
        bin.add(port).ok()?;
        let pad = gst::GhostPad::builder_from_template_with_target(&template, inner).ok()?;
        let pad = pad.name(self.name(number)).build();
        let _ = pad.set_active(true);
        bin.add_pad(&pad).ok()?;
        let _ = port.sync_state_with_parent();
        Some(pad.upcast())
    }

    /// Removes the pad and the element of a port from a bin.
    pub(crate) fn remove(
        self,
        bin: &(impl IsA<gst::Bin> + IsA<gst::Element>),
        port: &impl IsA<gst::Element>,
        pad: &gst::Pad,
    ) {
        // The element no longer waits for anything.
        let _ = port.set_state(gst::State::Null);
        let _ = pad.set_active(false);
        let _ = bin.remove_pad(pad);
        let _ = bin.remove(port);
    }
}
