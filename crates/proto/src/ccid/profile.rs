//! Options and requirements of each CCID.

/// The options that a CCID defines, and the common features that it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CcidProfile {
    /// `true` if the end that receives the data must send Ack Vectors: Send Ack Vector = 1 there.
    pub needs_ack_vector: bool,
    /// `true` if the Ack Ratio of the end that sends the data is used.
    pub uses_ack_ratio: bool,
    /// `true` if data carries ECT(1), since the response to marks is scalable (RFC 9331); `false` for ECT(0)
    /// (RFC 8311, Section 6).
    pub is_scalable: bool,
    /// `true` if the receiver can classify losses.
    pub classifies_losses: bool,
    /// The option types from 128 on that are understood under this CCID.
    pub options: &'static [u8],
}

impl CcidProfile {
    /// A CCID that defines nothing and needs nothing.
    pub const PLAIN: Self = Self {
        needs_ack_vector: false,
        uses_ack_ratio: false,
        is_scalable: false,
        classifies_losses: false,
        options: &[],
    };
}
