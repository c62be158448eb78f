// Builds the page into the package: relative addresses, hashed names, packed twins, licences of what is inside, a limit on its weight.
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

// In kB, packed with gzip; what a browser fetches before the first page stands is the first script, the styles and the fonts.
const LIMITS = { first: 185, styles: 18, chunk: 75, all: 450 };

function weighed(): Plugin {
  return {
    name: "weighed",
    enforce: "post",
    generateBundle(_options, bundle) {
      const heavy: string[] = [];
      let all = 0;
      for (const [name, one] of Object.entries(bundle)) {
        const body = one.type === "chunk" ? one.code : one.source;
        const size = (name.endsWith(".woff2") ? Buffer.from(body).length : gzipSync(Buffer.from(body), { level: 9 }).length) / 1000;
        if (!name.startsWith("assets/")) continue;
        all += size;
        const most = one.type === "chunk" ? (one.isEntry ? LIMITS.first : LIMITS.chunk) : name.endsWith(".css") ? LIMITS.styles : Number.POSITIVE_INFINITY;
        if (size > most) heavy.push(`${name} weighs ${size.toFixed(1)} kB, at most ${most} may be`);
      }
      if (all > LIMITS.all) heavy.push(`all of it weighs ${all.toFixed(1)} kB, at most ${LIMITS.all} may be`);
      if (heavy.length) this.error(`The page is too heavy: ${heavy.join("; ")}`);
      this.info(`all of it weighs ${all.toFixed(1)} kB`);
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [react(), licences(), weighed(), packed()],
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
