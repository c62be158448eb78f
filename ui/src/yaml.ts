// A contract's document as lines of YAML, each with the path of its value, so that its origin can stand beside it.
import type { Value } from "./types";

export interface Line {
  indent: number;
  dash: boolean;
  key: string | null;
  value: string | null;
  kind: "s" | "n" | "";
  path: string;
}

export function lines(value: Value, path = "", indent = 0, dash = false): Line[] {
  if (Array.isArray(value))
    return value.flatMap((one, number) => {
      const here = `${path}[${number}]`;
      if (isLeaf(one)) return [{ indent, dash: true, key: null, ...leaf(one), path: here }];
      return lines(one, here, indent, true);
    });
  if (value !== null && typeof value === "object") {
    return Object.entries(value).flatMap(([key, one], number) => {
      const here = path ? `${path}.${key}` : key;
      const first = dash && number === 0;
      const at = dash && number > 0 ? indent + 1 : indent;
      if (isLeaf(one)) return [{ indent: at, dash: first, key, ...leaf(one), path: here }];
      return [{ indent: at, dash: first, key, value: null, kind: "" as const, path: here }, ...lines(one, here, indent + (dash ? 2 : 1), false)];
    });
  }
  return [{ indent, dash, key: null, ...leaf(value), path }];
}
function isLeaf(value: Value): boolean {
  return value === null || typeof value !== "object" || (Array.isArray(value) && (value.length === 0 || (value.every((one) => one === null || typeof one !== "object") && JSON.stringify(value).length < 80))) || (typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0);
}
function leaf(value: Value): { value: string; kind: Line["kind"] } {
  if (Array.isArray(value)) return { value: `[${value.map((one) => leaf(one).value).join(", ")}]`, kind: "s" };
  if (value !== null && typeof value === "object") return { value: "{}", kind: "" };
  if (typeof value === "number" || typeof value === "boolean" || value === null) return { value: String(value), kind: "n" };
  const plain = /^[A-Za-z_./][\w ./()<>=-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value) && !/: |\s#/.test(value) && !value.endsWith(" ");
  return { value: plain ? value : JSON.stringify(value), kind: "s" };
}
