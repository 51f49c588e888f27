//! Ways to feed documents to a profiler: blocks of a file, responses of a server, and merging with
//! another profiler of the same collection.

use docward_bson::walk::{self, Fault, i32_at};

use crate::{
    Profiler,
    profiler::DAMAGES,
    values::{id_value, remember_id},
};

impl Profiler {
    /// Adds contiguous whole documents. `offset` is the position of the block in its file, for
    /// messages and natural order. A document with an invalid length ends the block.
    pub fn add_block(&mut self, block: &[u8], offset: u64) {
        self.add_block_after(block, offset, &[]);
    }

    /// [`Self::add_block`] for a block that follows another one. `previous_id` is the [`last_id`]
    /// of that block, so that neighbours are compared across the boundary wherever it is.
    pub fn add_block_after(&mut self, block: &[u8], offset: u64, previous_id: &[u8]) {
        self.scratch.base = offset;
        self.scratch.previous_id.clear();
        self.scratch.previous_id.extend_from_slice(previous_id);
        let mut at = 0;
        while at < block.len() {
            match walk::document_end(block, at, block.len()) {
                Ok(end) => {
                    if let Err(fault) = self.document(block, at, end) {
                        self.scratch.damaged(fault);
                    }
                    at = end;
                }
                Err(kind) => {
                    self.scratch.damaged(Fault::new(at, kind));
                    // The length itself may be valid although the last byte is not NUL.
                    match i32_at(block, at) {
                        Some(len) if len >= 5 && at + len as usize <= block.len() => {
                            at += len as usize;
                        }
                        _ => return,
                    }
                }
            }
        }
    }

    /// Adds the documents of a BSON array, except for the first `skip`, as a server returns them.
    /// Positions are as if the documents were contiguous; `previous_id` is the [`last_id`] of the
    /// block before.
    pub fn add_array(&mut self, array: &[u8], skip: usize, position: u64, previous_id: &[u8]) {
        self.scratch.previous_id.clear();
        self.scratch.previous_id.extend_from_slice(previous_id);
        self.scratch.base = position;
        for document in array_documents(array).skip(skip) {
            if let Err(fault) = self.document(document, 0, document.len()) {
                self.scratch.damaged(fault);
            }
            self.scratch.base += document.len() as u64;
        }
    }

    /// Merges another profiler of the same collection, whose documents come later in natural order.
    pub fn merge(&mut self, later: Self) {
        let map = self.tree.absorb(later.tree);
        self.rows.merge(later.rows, &map);
        self.joins.merge(&self.tree, later.joins, &map);
        self.documents += later.documents;
        self.bytes += later.bytes;
        self.sizes.merge(&later.sizes);
        self.larger.iter_mut().zip(later.larger).for_each(|(a, b)| *a += b);
        self.largest.extend(later.largest);
        self.settle_largest();
        self.depths.iter_mut().zip(later.depths).for_each(|(a, b)| *a += b);
        self.max_server_depth = self.max_server_depth.max(later.max_server_depth);
        self.id_pairs += later.id_pairs;
        self.id_rising += later.id_rising;
        self.ids.merge(later.ids);
        self.shapes.merge(&later.shapes);
        for (hash, fields) in later.shape_fields {
            self.shape_fields
                .entry(hash)
                .or_insert_with(|| fields.iter().map(|&n| map[n as usize]).collect());
        }
        let theta = self.shapes.theta();
        self.shape_fields.retain(|&hash, _| hash < theta);
        let scratch = &mut self.scratch;
        scratch.damage_count += later.scratch.damage_count;
        scratch.damages.extend(later.scratch.damages);
        scratch.damages.sort_by_key(|d| d.offset);
        scratch.damages.truncate(DAMAGES);
    }
}

/// The documents in a BSON array; other elements are skipped.
pub fn array_documents(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let elements = walk::Elements::new(array).into_iter().flatten().map_while(Result::ok);
    elements.filter(|element| element.tag == 0x03).map(|element| element.value)
}

/// The `_id` of the last document in a block of contiguous documents, for
/// [`Profiler::add_block_after`]; empty if it has none.
pub fn last_id(block: &[u8]) -> Vec<u8> {
    let mut id = Vec::new();
    let (mut start, mut end) = (0, 0);
    while let Ok(next) = walk::document_end(block, end, block.len()) {
        (start, end) = (end, next);
    }
    if end > start
        && let Some((tag, from, to)) = id_value(block, start, end)
    {
        remember_id(&mut id, tag, &block[from..to]);
    }
    id
}
