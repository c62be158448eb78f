// Asked once where the service needs to know who you are; the token stays in this tab.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { giveToken, token } from "../api";
import { Logo } from "../app";

export function Door() {
  const [text, setText] = useState("");
  const client = useQueryClient();
  const known = token() !== null;
  return (
    <main className="door">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          client.clear();
          giveToken(text.trim());
        }}
      >
        <Logo />
        <h1>Who are you?</h1>
        <p className="muted">
          This service asks for a token. Whoever runs it makes one with <code>lakelogic token new</code>. It stays in this tab and is sent with every question.
        </p>
        {known && (
          <p className="banner bad" role="alert">
            The token is not known, has expired or was revoked.
          </p>
        )}
        <div className="field">
          <label htmlFor="token">Token</label>
          <input id="token" className="input" type="password" autoComplete="off" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
        </div>
        <button type="submit" className="btn first" disabled={!text.trim()}>
          Enter
        </button>
      </form>
    </main>
  );
}
