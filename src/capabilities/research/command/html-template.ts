/** HTML that needs no more escaping. Created by `safeHtml` from texts. */
export interface SafeHtml {
  readonly safe: string;
}

type HtmlValue = string | number | SafeHtml | readonly SafeHtml[];

/** Template tag for HTML. Escapes the values, both for text and for quoted attributes. */
export function safeHtml(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): SafeHtml {
  return { safe: parts.reduce((before, part, at) => `${before}${escapeValue(values[at - 1] ?? '')}${part}`) };
}

export const EMPTY_HTML: SafeHtml = { safe: '' };

function escapeValue(value: HtmlValue): string {
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  if (typeof value === 'number') return String(value);
  return 'safe' in value ? value.safe : value.map(({ safe }) => safe).join('');
}
