//! Clients.

use super::{Description, Parameter, Tag, of, parameter::truth};
use crate::error::Code;
use crate::event::payload::clients::Client;
use crate::rest::write::clients::{ClientDeleted, OauthCredentials};

/// What can come of any such request while authentication is mocked.
pub(super) const MOCKED: &[Code] = &[Code::NotImplemented];

const NO_CLIENT: &[Code] = &[Code::M2mClientNotFound];

const WITH_ADMIN_ROLE: Parameter = Parameter::query(
    "withAdminRole",
    truth,
    "Gives it `ROLE_ADMIN` besides `ROLE_M2M`, where `CYODA_IAM_M2M_ADMIN_ROLE_ENABLED` is `true`.",
);

pub(in crate::rest) const LIST: Description = Description {
    text: "The client of the settings is among them.",
    codes: &[MOCKED],
    ..Description::new(
        Tag::Identity,
        "listClients",
        "The clients of the tenant",
        of::<Vec<Client>>,
    )
};

pub(in crate::rest) const CREATE: Description = Description {
    text: "It gets tokens from `POST /oauth/token`, and calls with them as itself.",
    parameters: &[WITH_ADMIN_ROLE],
    codes: &[MOCKED, &[Code::FeatureDisabled, Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "createClient",
        "Make a client",
        of::<OauthCredentials>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Its tokens are worthless from then on.",
    codes: &[MOCKED, NO_CLIENT],
    ..Description::new(
        Tag::Identity,
        "deleteClient",
        "Delete a client",
        of::<ClientDeleted>,
    )
};

pub(in crate::rest) const RESET_SECRET: Description = Description {
    text: "The secret it had, and the tokens it got for that, are worthless from then on.",
    codes: &[MOCKED, NO_CLIENT, &[Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "resetClientSecret",
        "Give a client another secret",
        of::<OauthCredentials>,
    )
};
