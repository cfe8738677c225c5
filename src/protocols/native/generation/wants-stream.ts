/** wire.md 1.1 and decisions.md "headers": natively a header asks for a stream, never a field. */
export function wantsStream(headers: Readonly<Record<string, string | undefined>>): boolean {
  if (isEnabled(headers['x-dashscope-sse']) || isEnabled(headers['x-svc-sse'])) return true;
  return (headers['accept'] ?? '')
    .split(',')
    .some((range) => range.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream');
}

/** The same way to ask for a task instead of an answer. */
export const wantsTask = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  isEnabled(headers['x-dashscope-async']) || isEnabled(headers['x-svc-async']);

/** Wishes for plugins, which clients of old put into a header: none of them is here, whatever it is. */
export const ignoredPlugins = (headers: Readonly<Record<string, string | undefined>>): readonly string[] =>
  (headers['x-dashscope-plugin'] ?? headers['x-svc-plugin'])?.trim() ? ['X-DashScope-Plugin'] : [];

const isEnabled = (value: string | undefined): boolean => value?.trim().toLowerCase() === 'enable';
