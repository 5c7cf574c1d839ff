#![cfg(test)]

mod arrivals;
mod checks;
mod driven;
mod plans;
mod saga_simulation;
mod sagas;
mod signals;
mod simulation;
mod steps;
mod values;
