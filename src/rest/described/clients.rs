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
    "Adds `ROLE_ADMIN` to `ROLE_M2M`; requires `CYODA_IAM_M2M_ADMIN_ROLE_ENABLED=true`.",
);

pub(in crate::rest) const LIST: Description = Description {
    text: "Includes the client of the settings.",
    codes: &[MOCKED],
    ..Description::new(
        Tag::Identity,
        "listClients",
        "List the clients of the tenant",
        of::<Vec<Client>>,
    )
};

pub(in crate::rest) const CREATE: Description = Description {
    text: "It obtains tokens from `POST /oauth/token`.",
    parameters: &[WITH_ADMIN_ROLE],
    codes: &[MOCKED, &[Code::FeatureDisabled, Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "createClient",
        "Create a client",
        of::<OauthCredentials>,
    )
};

pub(in crate::rest) const DELETE: Description = Description {
    text: "Its tokens are revoked.",
    codes: &[MOCKED, NO_CLIENT],
    ..Description::new(
        Tag::Identity,
        "deleteClient",
        "Delete a client",
        of::<ClientDeleted>,
    )
};

pub(in crate::rest) const RESET_SECRET: Description = Description {
    text: "The previous secret, and the tokens obtained with it, are revoked.",
    codes: &[MOCKED, NO_CLIENT, &[Code::TooManyRequests]],
    ..Description::new(
        Tag::Identity,
        "resetClientSecret",
        "Replace the secret of a client",
        of::<OauthCredentials>,
    )
};
