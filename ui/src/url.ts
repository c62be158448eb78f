// The address is the state: filters, tabs, selection. Back and reload restore all of it.
import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export type Choices = Record<string, string | undefined>;

export function useChoices(): [Choices, (changed: Choices, way?: { replace?: boolean }) => void, (changed: Choices) => string] {
  const search = useSearch();
  const [place, go] = useLocation();
  const choices = useMemo(() => Object.fromEntries(new URLSearchParams(search)) as Choices, [search]);
  const href = useCallback(
    (changed: Choices) => {
      const made = new URLSearchParams(search);
      for (const [name, value] of Object.entries(changed)) {
        if (value === undefined || value === "") made.delete(name);
        else made.set(name, value);
      }
      const text = made.toString();
      return text ? `${place}?${text}` : place;
    },
    [search, place],
  );
  const choose = useCallback((changed: Choices, way?: { replace?: boolean }) => go(href(changed), way), [go, href]);
  return [choices, choose, href];
}
