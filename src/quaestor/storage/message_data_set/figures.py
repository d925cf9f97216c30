"""Figures: what a message data set counts into.

Called by data_set, buffers.
"""

from typing import Protocol


class Figures(Protocol):
    """The figures that a data set counts into: the section QESD of the manager that owns it."""

    allocate_requests: int
    allocations_failed: int
    blocks_data: int
    blocks_free: int
    blocks_free_low: int
    blocks_total: int
    blocks_used: int
    blocks_used_high: int
    buffer_size: int
    buffers_discarded: int
    buffers_empty: int
    buffers_free_low: int
    buffers_saved: int
    buffers_total: int
    buffers_used_high: int
    ca_size: int
    ci_size: int
    format_io_elapsed: int
    format_ios: int
    format_pages: int
    free_requests: int
    get_buffer: int
    got_free: int
    got_none: int
    got_stolen: int
    got_valid: int
    high_allocated_ci: int
    high_used_ci: int
    messages: int
    messages_high: int
    other_read_io_elapsed: int
    other_read_ios: int
    other_read_pages: int
    pages_allocated: int
    pages_freed: int
    read_io_elapsed: int
    read_ios: int
    read_pages: int
    read_requests: int
    reads_saved: int
    write_io_elapsed: int
    write_ios: int
    write_pages: int
    write_requests: int
