//! Feature negotiation (RFC 4340, Section 6).
