// The entry: styles, the client that asks, the frame.
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { BASE, client } from "./api";
import { App } from "./app";

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <QueryClientProvider client={client}>
      <Router base={BASE}>
        <App />
      </Router>
    </QueryClientProvider>,
  );
