// Builds the page into the package: relative addresses, hashed names, packed twins, licences of what is inside.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const out = resolve(import.meta.dirname, "../src/lakelogic/ui/dist");

function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_options, bundle) {
      const names = new Set<string>(["@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"]);
      for (const chunk of Object.values(bundle))
        if (chunk.type === "chunk")
          for (const id of Object.keys(chunk.modules)) {
            const found = id.split("node_modules/").pop()?.match(/^(@[^/]+\/[^/]+|[^/]+)\//);
            if (id.includes("node_modules/") && found?.[1]) names.add(found[1]);
          }
      const parts = [...names].sort().map((name) => {
        const folder = resolve(import.meta.dirname, "node_modules", name);
        if (!existsSync(join(folder, "package.json"))) return "";
        const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
        const text = file ? readFileSync(join(folder, file), "utf-8").trim() : "";
        return `${name} ${version} (${license})\n\n${text}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: parts.filter(Boolean).join("\n----\n\n") });
    },
  };
}

function packed(): Plugin {
  return {
    name: "packed",
    closeBundle() {
      const folder = join(out, "assets");
      for (const name of readdirSync(folder).filter((one) => /\.(js|css)$/.test(one))) {
        const body = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(body, { level: 9 }));
        const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(body, best));
      }
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [react(), licences(), packed()],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2023",
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
