"""Fuzzers for everything that reads data from outside: `make fuzz`, or `python -m fuzz --help`.

A target (`targets.py` lists them) has valid examples, a way to change them, and a function that reads the result. That
function must accept the data, after which whatever was read is used, or raise the documented error. The examples are
changed with their structure in mind (`mutations.py`), and hashes are computed again, so that changes get past them. An
input that reaches a new line of this project, or is refused for a new reason, becomes an example too.

Each target runs in a process of its own (`worker.py`), so that a crash, a hang or a lack of memory stops only that
process. `__main__.py` starts these processes, saves the inputs that did this, and counts.
"""
