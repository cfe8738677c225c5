/** Returns options of a guarded fetch that reaches one origin only, in whatever network it is. */
export function restrictToOrigin(address: string): {
  readonly allow: readonly string[];
  readonly ports: readonly number[];
} {
  const { hostname, port, protocol } = new URL(address);
  const ports = [port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)];
  return { allow: [hostname.replace(/^\[|\]$/g, '')], ports };
}
