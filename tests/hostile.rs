//! What is made to harm, against processes with little memory and few descriptors: each ends with one sentence or with
//! success, nothing is lost, no process is left, everything else goes on, and a server says within a second that it lives.
//!
//! With `BACKSTORY_TEST_FULL_SIZE` set all of it is as large as it can be in practice, which takes minutes.

mod forges;
mod repositories;
mod served;
mod sockets;
