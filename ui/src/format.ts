// Numbers and times as people read them, never rounded into a lie.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 6, useGrouping: true });

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : whole.format(value).replaceAll(",", "\u202f");
}
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
export function share(part: number, all: number): string {
  if (all === 0) return "–";
  if (part === all) return "100 %";
  if (part === 0) return "0 %";
  const percent = (part / all) * 100;
  if (percent < 0.1) return "<0.1 %";
  if (percent > 99.9) return `${Math.min(99.99, Math.floor(percent * 100) / 100).toFixed(2)} %`;
  return `${percent.toFixed(1)} %`;
}
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} m ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}
/** Hours as people say them: minutes where it is less than one. */
export function hours(value: number): string {
  if (value < 1) return `${Math.round(value * 60)} min`;
  return value < 48 ? `${count(Math.round(value * 10) / 10)} h` : `${count(Math.round(value / 2.4) / 10)} d`;
}
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function ago(moment: string | null | undefined, now = Date.now()): string {
  if (!moment) return "–";
  const seconds = (now - new Date(moment).getTime()) / 1000;
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return day.format(new Date(moment)).replace(",", "");
}
export function age(moment: string | null | undefined, now = Date.now()): string {
  if (!moment) return "–";
  const seconds = Math.max(0, (now - new Date(moment).getTime()) / 1000);
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}
export function exact(moment: string): string {
  const when = new Date(moment);
  return `${day.format(when).replace(",", "")}:${String(when.getSeconds()).padStart(2, "0")} · ${when.toISOString().replace("T", " ").replace("Z", "")} UTC`;
}
export function time(moment: Date): string {
  return clock.format(moment);
}
export function middle(text: string, most = 48): string {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}
export function words(text: string): string {
  return text.replaceAll("_", " ");
}
