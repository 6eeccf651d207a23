//! A plan's budget as a constant, and the assertion that it holds.

use fa_codegen::budget::{Budget, Buffer, MemoryUse};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The budget as an expression of type `Budget`.
pub(crate) fn constant(facade: &TokenStream, budget: &Budget) -> TokenStream {
    let target = &budget.target;
    let memories = budget
        .memories
        .iter()
        .map(|memory| constant_memory(facade, memory));
    quote! {
        #facade::Budget {
            target: #target,
            memories: &[#(#memories),*],
        }
    }
}

fn constant_memory(facade: &TokenStream, memory: &MemoryUse) -> TokenStream {
    let name = &memory.memory;
    let [used, capacity] =
        [memory.used_bytes(), memory.capacity_bytes].map(Literal::u64_unsuffixed);
    let buffers = memory
        .buffers
        .iter()
        .map(|buffer| constant_buffer(facade, buffer));
    quote! {
        #facade::BudgetMemory {
            name: #name,
            used_bytes: #used,
            capacity_bytes: #capacity,
            buffers: &[#(#buffers),*],
        }
    }
}

fn constant_buffer(facade: &TokenStream, buffer: &Buffer) -> TokenStream {
    let Buffer {
        name,
        copies,
        rows,
        cols,
        dtype,
        offset_bytes,
        ..
    } = buffer;
    let [copies, rows, cols] = [*copies, *rows, *cols].map(Literal::u32_unsuffixed);
    let [offset_bytes, bytes] = [*offset_bytes, buffer.bytes()].map(Literal::u64_unsuffixed);
    quote! {
        #facade::BudgetBuffer {
            name: #name,
            copies: #copies,
            rows: #rows,
            cols: #cols,
            dtype: #dtype,
            offset_bytes: #offset_bytes,
            bytes: #bytes,
        }
    }
}

/// One assertion per memory, on numbers that the constant holds.
pub(crate) fn assertions(budget: &Budget, constant: &TokenStream) -> TokenStream {
    let assertions = budget.memories.iter().enumerate().map(|(index, memory)| {
        let index = Literal::usize_unsuffixed(index);
        let message = format!("{} budget of {} exceeded", memory.memory, budget.target);
        quote! {
            ::core::assert!(
                #constant.memories[#index].used_bytes <= #constant.memories[#index].capacity_bytes,
                #message
            );
        }
    });
    quote! {
        const _: () = { #(#assertions)* };
    }
}

/// The budget as a table for documentation.
pub(crate) fn table(budget: &Budget) -> Vec<String> {
    let mut lines = vec![
        format!(
            "| {} | used KiB | usable KiB | largest buffer |",
            budget.target
        ),
        "| --- | ---: | ---: | --- |".to_owned(),
    ];
    let kib = |bytes: u64| format!("{:.2}", bytes as f64 / 1024.0);
    lines.extend(budget.memories.iter().map(|memory| {
        let largest = memory.largest().map_or_else(String::new, |buffer| {
            format!("`{}`, {} KiB", buffer.name, kib(buffer.bytes()))
        });
        format!(
            "| {} | {} | {} | {largest} |",
            memory.memory,
            kib(memory.used_bytes()),
            kib(memory.capacity_bytes)
        )
    }));
    lines
}
