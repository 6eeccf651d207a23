//! Global memory: tracked allocations with bounds, definedness and the store that last wrote garbage.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes left untouched before and after every allocation, so that strays land in nobody's data.
const GUARD_BYTES: usize = 4096;
/// Alignment of device memory; the API promises 64 bytes, allocators of real devices give 512.
const ALIGN_BYTES: usize = 512;
/// Shadow value of a byte that nothing has written.
pub(crate) const NEVER_WRITTEN: u8 = 1;
/// First shadow value that names a store.
const FIRST_SITE: u8 = 2;
/// Contents of fresh device memory.
const GARBAGE: u8 = 0xff;

/// A store that put garbage into global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreSite {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) call: String,
}

/// One allocation of device memory.
#[derive(Debug)]
pub(crate) struct Allocation {
    base: usize,
    size: usize,
    block: *mut u8,
    layout: Layout,
    shadow: *mut u8,
    sites: Mutex<Vec<StoreSite>>,
}

// SAFETY: the pointers are owned by the allocation; like device memory they may be written by several launches,
// and it is the caller's duty, as on a device, to order those.
unsafe impl Send for Allocation {}
// SAFETY: as above; the site table has its own lock.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(size: usize) -> Option<Allocation> {
        let layout =
            Layout::from_size_align(size.checked_add(2 * GUARD_BYTES)?, ALIGN_BYTES).ok()?;
        // SAFETY: the layout is not empty, thanks to the guards.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            return None;
        }
        let shadow = Box::into_raw(vec![NEVER_WRITTEN; size].into_boxed_slice()).cast::<u8>();
        // SAFETY: `block` has that many bytes.
        unsafe { block.write_bytes(GARBAGE, layout.size()) };
        Some(Allocation {
            base: block as usize + GUARD_BYTES,
            size,
            block,
            layout,
            shadow,
            sites: Mutex::new(Vec::new()),
        })
    }

    /// Device address of the first byte.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// Bytes of the allocation.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn data(&self) -> *mut u8 {
        self.block.wrapping_add(GUARD_BYTES)
    }

    /// Contents of `len` bytes from `offset`.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(
            offset + len <= self.size,
            "reads stay inside the allocation"
        );
        // SAFETY: in bounds; writers of the same bytes are ordered by the caller, as on a device.
        unsafe { std::slice::from_raw_parts(self.data().add(offset), len) }
    }

    /// Definedness of `len` bytes from `offset`.
    pub(crate) fn shadow(&self, offset: usize, len: usize) -> &[u8] {
        assert!(
            offset + len <= self.size,
            "reads stay inside the allocation"
        );
        // SAFETY: as for the contents.
        unsafe { std::slice::from_raw_parts(self.shadow.add(offset), len) }
    }

    /// Writes bytes and their definedness (0 defined); `site` names the store where some are garbage.
    pub(crate) fn write(
        &self,
        offset: usize,
        data: &[u8],
        shadow: &[u8],
        site: impl FnOnce() -> StoreSite,
    ) {
        assert!(
            offset + data.len() <= self.size && data.len() == shadow.len(),
            "writes stay inside the allocation"
        );
        // SAFETY: in bounds; `data` is a copy or another memory, never this allocation.
        unsafe { std::ptr::copy(data.as_ptr(), self.data().add(offset), data.len()) };
        // SAFETY: in bounds, and only this function and `mark_defined` write shadows.
        let own = unsafe { std::slice::from_raw_parts_mut(self.shadow.add(offset), shadow.len()) };
        if shadow.iter().all(|&state| state == 0) {
            own.fill(0);
            return;
        }
        let id = self.site_id(site());
        for (own, &state) in own.iter_mut().zip(shadow) {
            *own = if state == 0 { 0 } else { id };
        }
    }

    /// Writes defined bytes from the host.
    pub(crate) fn write_defined(&self, offset: usize, data: &[u8]) {
        assert!(
            offset + data.len() <= self.size,
            "writes stay inside the allocation"
        );
        // SAFETY: in bounds; overlapping sources are allowed by `copy`.
        unsafe { std::ptr::copy(data.as_ptr(), self.data().add(offset), data.len()) };
        self.mark_defined(offset, data.len());
    }

    /// Fills bytes from the host.
    pub(crate) fn fill(&self, offset: usize, value: u8, len: usize) {
        assert!(
            offset + len <= self.size,
            "writes stay inside the allocation"
        );
        // SAFETY: in bounds.
        unsafe { self.data().add(offset).write_bytes(value, len) };
        self.mark_defined(offset, len);
    }

    /// Takes bytes for defined.
    pub(crate) fn mark_defined(&self, offset: usize, len: usize) {
        // SAFETY: the callers checked the bounds.
        unsafe { self.shadow.add(offset).write_bytes(0, len) };
    }

    /// Shadow value for a store; the last value stands for all further ones.
    fn site_id(&self, site: StoreSite) -> u8 {
        let mut sites = lock(&self.sites);
        let index = sites
            .iter()
            .position(|known| *known == site)
            .unwrap_or_else(|| {
                sites.push(site);
                sites.len() - 1
            });
        u8::try_from(index + usize::from(FIRST_SITE)).unwrap_or(u8::MAX)
    }

    /// The store that a shadow value names.
    pub(crate) fn site(&self, shadow: u8) -> Option<StoreSite> {
        let index = shadow.checked_sub(FIRST_SITE)?;
        lock(&self.sites).get(usize::from(index)).cloned()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new` and freed once.
        unsafe { dealloc(self.block, self.layout) };
        // SAFETY: came from a boxed slice of this length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.shadow, self.size)) });
    }
}

static ALLOCATIONS: Mutex<BTreeMap<usize, Arc<Allocation>>> = Mutex::new(BTreeMap::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates undefined device memory; `None` when the host has no room.
pub(crate) fn allocate(size: usize) -> Option<usize> {
    let allocation = Arc::new(Allocation::new(size)?);
    let base = allocation.base();
    lock(&ALLOCATIONS).insert(base, allocation);
    Some(base)
}

/// Frees an allocation by its first address; false if there is none.
pub(crate) fn free(base: usize) -> bool {
    lock(&ALLOCATIONS).remove(&base).is_some()
}

/// Bytes allocated in total.
pub(crate) fn allocated_bytes() -> usize {
    lock(&ALLOCATIONS)
        .values()
        .map(|allocation| allocation.size())
        .sum()
}

/// The allocation at or before an address, whether or not the address is inside.
pub(crate) fn nearest(addr: usize) -> Option<Arc<Allocation>> {
    lock(&ALLOCATIONS)
        .range(..=addr)
        .next_back()
        .map(|(_, allocation)| Arc::clone(allocation))
}

/// The allocation that holds `addr`.
pub(crate) fn find(addr: usize) -> Option<Arc<Allocation>> {
    nearest(addr).filter(|allocation| addr < allocation.base() + allocation.size())
}
