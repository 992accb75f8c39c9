//! A uniform grid over moving nodes.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use whimbrel_units::{Duration, Instant};

use crate::StationIndex;
use crate::mobility::{Area, Leg, Position};

/// Nodes with positions that are piecewise linear functions of time.
pub trait Positions {
    /// The leg of a node's path at `now`, and the time of its end.
    fn current(&self, node: StationIndex, now: Instant) -> (Leg, Instant);

    /// The position of a node at `now`.
    fn position(&self, node: StationIndex, now: Instant) -> Position {
        self.current(node, now).0.position(now)
    }

    /// An upper bound of the node's speed in metres per second, from now on.
    fn max_speed(&self, node: StationIndex) -> f64;
}

/// Finds the nodes within a range of a point.
///
/// The grid stores each node in the cell of an earlier position, its anchor, and moves a node to another cell
/// only when it may have gone further than the slack, a fixed distance, from its anchor. A query visits the
/// cells that intersect the disc enlarged by the slack and compares exact positions, so that the answer is
/// exact. Standing still costs nothing; moving costs an update per slack travelled and no event.
///
/// Queries must not go back in time.
#[derive(Clone, Debug)]
pub struct SpatialIndex {
    area: Area,
    cell: f64,
    slack: f64,
    columns: usize,
    rows: usize,
    cells: Vec<Vec<StationIndex>>,
    /// Cell of each node.
    cell_of: Vec<u32>,
    /// The leg that each node was last found on, with its end: a position costs no search in the path.
    legs: Vec<(Leg, Instant)>,
    /// Times at which nodes may leave the slack around their anchors, earliest first. Nodes at rest have
    /// none.
    renewals: BinaryHeap<Reverse<(Instant, StationIndex)>>,
}

impl SpatialIndex {
    /// An index of `nodes` nodes for queries with radii of about `range` metres, which affects the cost
    /// alone. Nodes may leave `area`, at the cost of longer queries at its border.
    pub fn new(area: Area, range: f64, now: Instant, nodes: usize, positions: &impl Positions) -> Self {
        let slack = (range / 8.0).max(1e-3);
        // More cells than nodes gain nothing, for any area.
        let limit = libm::sqrt(4.0 * nodes as f64 + 16.0);
        let extent = area.width().max(area.height());
        let cell = ((range + slack) / 2.0).max(extent / limit).max(1e-3);
        let cells_along = |length: f64| (libm::floor(length / cell) as usize).saturating_add(1);
        let (columns, rows) = (cells_along(area.width()), cells_along(area.height()));
        let mut index = Self {
            area,
            cell,
            slack,
            columns,
            rows,
            cells: vec![Vec::new(); columns * rows],
            cell_of: Vec::with_capacity(nodes),
            legs: Vec::with_capacity(nodes),
            renewals: BinaryHeap::with_capacity(nodes),
        };
        for node in (0..nodes).map(StationIndex::new) {
            let leg = positions.current(node, now);
            let cell = index.cell_at(leg.0.position(now));
            index.cells[cell].push(node);
            index.cell_of.push(cell as u32);
            index.legs.push(leg);
            index.schedule(now, node, positions.max_speed(node));
        }
        index
    }

    /// The position of a node at `now`.
    pub fn position(&mut self, now: Instant, node: StationIndex, positions: &impl Positions) -> Position {
        current_leg(&mut self.legs, now, node, positions).position(now)
    }

    /// Appends the squares of the distances of nodes from a point at `now`, in square metres.
    pub fn distances_squared(
        &mut self,
        now: Instant,
        centre: Position,
        nodes: &[StationIndex],
        positions: &impl Positions,
        squared: &mut Vec<f64>,
    ) {
        let legs = &mut self.legs[..];
        squared.extend(nodes.iter().map(move |&node| {
            let leg = current_leg(legs, now, node, positions);
            leg.position(now).distance_squared(centre)
        }));
    }

    /// Writes the nodes at most `radius` metres from `centre` at `now` to `found`, each with the square of
    /// its distance. Their order depends on past movements: a caller sorts them by what it needs.
    pub fn within(
        &mut self,
        now: Instant,
        centre: Position,
        radius: f64,
        positions: &impl Positions,
        found: &mut Vec<(StationIndex, f64)>,
    ) {
        self.renew(now, positions);
        found.clear();
        let reach = radius + self.slack;
        let squared = radius * radius;
        let (first_column, last_column) = self.columns_between(centre.x - reach, centre.x + reach);
        let (first_row, last_row) = self.rows_between(centre.y - reach, centre.y + reach);
        let legs = &mut self.legs[..];
        let mut examine = |node: StationIndex| {
            let leg = current_leg(legs, now, node, positions);
            let distance_squared = leg.position(now).distance_squared(centre);
            if distance_squared <= squared {
                found.push((node, distance_squared));
            }
        };
        let covered = (last_column - first_column + 1) * (last_row - first_row + 1);
        if covered * 2 > self.cells.len() {
            // Most nodes are near: to examine all of them costs less than the cells.
            (0..self.cell_of.len()).map(StationIndex::new).for_each(examine);
            return;
        }
        for row in first_row..=last_row {
            for cell in &self.cells[row * self.columns + first_column..=row * self.columns + last_column] {
                cell.iter().copied().for_each(&mut examine);
            }
        }
    }

    /// Puts the nodes that may have left the slack around their anchors into the cells of their present
    /// positions.
    fn renew(&mut self, now: Instant, positions: &impl Positions) {
        while let Some(&Reverse((due, node))) = self.renewals.peek()
            && due <= now
        {
            self.renewals.pop();
            let to = self.cell_at(positions.position(node, now));
            let from = core::mem::replace(&mut self.cell_of[node.index()], to as u32) as usize;
            if from != to {
                let members = &mut self.cells[from];
                if let Some(position) = members.iter().position(|&member| member == node) {
                    members.swap_remove(position);
                }
                self.cells[to].push(node);
            }
            self.schedule(now, node, positions.max_speed(StationIndex::new(node.index())));
        }
    }

    fn schedule(&mut self, now: Instant, node: StationIndex, max_speed: f64) {
        if max_speed > 0.0 {
            // Rounded down and at least 1 ns, so that a query's loop ends at any speed.
            let nanos = (self.slack / max_speed * 1e9) as u64;
            self.renewals.push(Reverse((now + Duration::from_nanos(nanos.max(1)), node)));
        }
    }

    fn cell_at(&self, position: Position) -> usize {
        let (column, _) = self.columns_between(position.x, position.x);
        let (row, _) = self.rows_between(position.y, position.y);
        row * self.columns + column
    }

    /// Positions outside the area belong to the cells at its border. The mapping is monotonic, which is what
    /// makes the range of cells of a query complete.
    fn columns_between(&self, low: f64, high: f64) -> (usize, usize) {
        let column = |x: f64| (((x - self.area.low.x) / self.cell) as usize).min(self.columns - 1);
        (column(low), column(high))
    }

    fn rows_between(&self, low: f64, high: f64) -> (usize, usize) {
        let row = |y: f64| (((y - self.area.low.y) / self.cell) as usize).min(self.rows - 1);
        (row(low), row(high))
    }
}

/// The leg of a node's path at `now`, which is searched for when the one before has ended.
#[inline(always)]
fn current_leg<'a>(
    legs: &'a mut [(Leg, Instant)],
    now: Instant,
    node: StationIndex,
    positions: &impl Positions,
) -> &'a Leg {
    let leg = &mut legs[node.index()];
    if leg.1 <= now {
        renew_leg(leg, now, node, positions);
    }
    &leg.0
}

#[cold]
#[inline(never)]
fn renew_leg(leg: &mut (Leg, Instant), now: Instant, node: StationIndex, positions: &impl Positions) {
    *leg = positions.current(node, now);
}

#[cfg(test)]
mod tests;
