//! Groups of frames: what a lost frame makes useless.
//!
//! A frame refers to those before it, back to the beginning of its group (a key frame, or any frame that an encoder makes without
//! reference to what was lost). Once a frame that others refer to is given up, the rest of its group cannot be decoded. To send it
//! would cost rate and time that the next group needs.

use crate::wire::Role;

/// Frames whose role is remembered.
const REMEMBERED: usize = 256;

/// The roles of recent frames, and whether the present group is broken.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Number and role, by number modulo the size.
    roles: [Option<(u16, Role)>; REMEMBERED],
    newest_start: Option<u16>,
    is_broken: bool,
}

impl Default for Groups {
    fn default() -> Self {
        Self::new()
    }
}

impl Groups {
    /// No frames yet: the first may have any role.
    #[must_use]
    pub const fn new() -> Self {
        Self { roles: [None; REMEMBERED], newest_start: None, is_broken: false }
    }

    /// `true` if the rest of the group is of no use, and a new start is needed.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// The next frame. Returns `false` if it is not worth sending, because it belongs to a broken group.
    pub fn on_frame(&mut self, number: u16, role: Role) -> bool {
        self.roles[usize::from(number) % REMEMBERED] = Some((number, role));
        if role == Role::Start {
            self.newest_start = Some(number);
            self.is_broken = false;
        }
        !self.is_broken
    }

    /// A frame was given up. Returns `true` if that breaks the present group, so that the encoder has to be asked for a new start.
    pub fn on_lost(&mut self, number: u16) -> bool {
        let role = match self.roles[usize::from(number) % REMEMBERED] {
            Some((known, role)) if known == number => role,
            // Too old to be of the present group.
            _ => return false,
        };
        let is_before_start =
            self.newest_start.is_some_and(|start| number != start && (start.wrapping_sub(number) as i16) > 0);
        if role == Role::Disposable || is_before_start || self.is_broken {
            return false;
        }
        self.is_broken = true;
        true
    }
}

#[cfg(test)]
mod tests;
