//! What is made to harm, against a process with little memory: each ends with one sentence or with success, and everything
//! else goes on.

mod repositories;
