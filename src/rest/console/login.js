// The form to log in. It is above the view, which stays as it is, with what was typed in it.

import { login, token } from "./service.js";
import { form, h, input } from "./element.js";

const dialog = document.getElementById("login");

export const isLoginOpen = () => dialog.open;

// Asks for a token, says why, and calls `then` when there is one.
export function askToLogin(reason, then) {
  if (dialog.open) return;
  const said = h("p", { role: "alert" }, reason);
  const done = () => {
    dialog.close();
    then();
  };
  const failed = (error) => (said.textContent = error.message);
  dialog.replaceChildren(
    h("h2", { id: "login-title" }, "Log in"),
    said,
    h("p", { class: "faint" }, "With a client of this service. Every browser tab logs in for itself; the token is kept until the tab is closed."),
    form(
      [
        ["id", "Client id", input("", { required: true, autocomplete: "username" })],
        ["secret", "Client secret", input("", { required: true, type: "password", autocomplete: "current-password" })],
      ],
      "Log in",
      ({ id, secret }) => login(id, secret).then(done, failed),
    ),
    h("p", { class: "faint" }, "Or with a token of an identity provider that this service trusts:"),
    form([["bearer", "Token", input("", { required: true, type: "password" })]], "Use it", ({ bearer }) => {
      try {
        token.set(bearer.trim().replace(/^Bearer\s+/i, ""));
      } catch (error) {
        failed(error);
        return;
      }
      done();
    }),
    h("button", { click: () => dialog.close() }, "Not now"),
  );
  dialog.showModal();
}
