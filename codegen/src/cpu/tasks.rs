//! How a launch falls into tasks: blocks of query rows of a head, and where these are few, parts of the keys as well.
//!
//! A launch that splits its keys gives the same bits whatever the number of threads: parts follow from the sizes alone.

use super::layout::{FEW_ROWS, ROWS};

/// With fewer tasks than this, keys are split: enough for the threads of a machine, few enough that what parts keep for
/// each other is small beside a launch.
const WANTED_TASKS: usize = 32;
/// Fewest keys of a part that `split_kv = auto` makes; a part costs about as much as 16 keys.
const LEAST_PART_KEYS: usize = 1024;

/// What a launch of a kernel must know of its plan to be cut into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Query rows of a task.
    pub block_q: u32,
    /// Key rows of a tile.
    pub block_kv: u32,
    /// Width of a value row in scratch, elements.
    pub v_cols: u32,
    /// Parts of the keys; `None` where they are decided launch by launch.
    pub split_kv: Option<u32>,
}

/// Sizes of a launch; lengths are those of the longest sequence where sequences are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSizes {
    /// Sequences.
    pub batch: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Query rows.
    pub q_len: usize,
    /// Key rows.
    pub kv_len: usize,
}

/// Keys in parts, each of whole tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySplit {
    /// Their number, at least 2.
    pub parts: usize,
    /// Keys of a part; the last one may have fewer.
    pub part_keys: usize,
    /// fp32 numbers that a part of a task keeps until the last part of the task is done.
    pub state_len: usize,
}

impl Tasks {
    /// Tasks of a launch, before keys are split.
    pub fn count(&self, sizes: TaskSizes) -> usize {
        sizes.batch * sizes.heads * sizes.q_len.div_ceil(self.block_q as usize)
    }

    /// How the keys of a launch are split, if they are.
    pub fn split(&self, sizes: TaskSizes) -> Option<KeySplit> {
        let tile = self.block_kv as usize;
        let wanted = match self.split_kv {
            Some(parts) => (parts as usize).min(sizes.kv_len.div_ceil(tile)),
            None => (WANTED_TASKS / self.working_tasks(sizes)?).min(sizes.kv_len / LEAST_PART_KEYS),
        };
        let part_keys = sizes.kv_len.div_ceil(wanted.max(1)).next_multiple_of(tile);
        let parts = sizes.kv_len.div_ceil(part_keys.max(1));
        (parts > 1).then(|| KeySplit {
            parts,
            part_keys,
            state_len: self.state_rows(sizes.q_len) * (self.v_cols as usize + 2),
        })
    }

    /// Tasks that do something: heads that share keys and few rows are one task. `None` where there is nothing to do.
    fn working_tasks(&self, sizes: TaskSizes) -> Option<usize> {
        let TaskSizes {
            batch,
            heads,
            kv_heads,
            q_len,
            ..
        } = sizes;
        if batch * heads * q_len == 0 {
            return None;
        }
        if q_len > FEW_ROWS as usize {
            return Some(self.count(sizes));
        }
        let group = heads / kv_heads;
        let together = (FEW_ROWS as usize / q_len).min(group);
        Some(batch * kv_heads * group.div_ceil(together))
    }

    /// Rows that a task may have, as emitted files count them too.
    fn state_rows(&self, q_len: usize) -> usize {
        let (few, rows) = (FEW_ROWS as usize, ROWS as usize);
        if q_len <= few {
            return few;
        }
        let block = (self.block_q as usize).next_multiple_of(rows);
        q_len.next_multiple_of(rows).min(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: Tasks = Tasks {
        block_q: 384,
        block_kv: 256,
        v_cols: 64,
        split_kv: None,
    };

    fn sizes([batch, heads, kv_heads, q_len, kv_len]: [usize; 5]) -> TaskSizes {
        TaskSizes {
            batch,
            heads,
            kv_heads,
            q_len,
            kv_len,
        }
    }

    fn parts(tasks: Tasks, launch: [usize; 5]) -> Option<(usize, usize)> {
        let split = tasks.split(sizes(launch))?;
        Some((split.parts, split.part_keys))
    }

    #[test]
    fn keys_are_split_where_tasks_are_few() {
        assert_eq!(parts(TASKS, [1, 1, 1, 1, 4096]), Some((4, 1024)));
        assert_eq!(parts(TASKS, [1, 32, 8, 1, 32768]), Some((4, 8192)));
        assert_eq!(parts(TASKS, [1, 1, 1, 4096, 4096]), Some((2, 2048)));
        assert_eq!(parts(TASKS, [8, 32, 8, 1, 32768]), None);
        assert_eq!(parts(TASKS, [1, 1, 1, 1, 2047]), None);
        assert_eq!(parts(TASKS, [1, 1, 1, 1, 3000]), Some((2, 1536)));
    }

    #[test]
    fn empty_launches_are_not_split() {
        for launch in [[0, 1, 1, 1, 9000], [1, 1, 1, 0, 9000], [1, 1, 1, 1, 0]] {
            assert_eq!(parts(TASKS, launch), None);
        }
        let fixed = Tasks {
            split_kv: Some(3),
            ..TASKS
        };
        assert_eq!(parts(fixed, [1, 1, 1, 1, 0]), None);
    }

    #[test]
    fn a_written_number_is_met_where_there_are_tiles() {
        let fixed = |split_kv| Tasks {
            split_kv: Some(split_kv),
            ..TASKS
        };
        assert_eq!(parts(fixed(3), [8, 32, 8, 9, 3000]), Some((3, 1024)));
        assert_eq!(parts(fixed(3), [8, 32, 8, 9, 300]), Some((2, 256)));
        assert_eq!(parts(fixed(1), [1, 1, 1, 1, 100_000]), None);
    }

    #[test]
    fn a_part_keeps_the_rows_of_its_task() {
        let kept = |q_len| {
            TASKS
                .split(sizes([1, 1, 1, q_len, 8192]))
                .expect("split")
                .state_len
        };
        assert_eq!([kept(1), kept(9), kept(4096)], [8 * 66, 12 * 66, 384 * 66]);
    }
}
