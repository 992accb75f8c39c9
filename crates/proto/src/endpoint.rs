//! Many connections behind one address.
