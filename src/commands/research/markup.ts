/** Markup that is safe to be written as it is. Only the template makes it of texts. */
export interface Markup {
  readonly safe: string;
}

type MarkupValue = string | number | Markup | readonly Markup[];

/** A template of HTML whose values are escaped, for text and for quoted attributes alike. */
export function markup(parts: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  return { safe: parts.reduce((before, part, at) => `${before}${written(values[at - 1] ?? '')}${part}`) };
}

export const NOTHING: Markup = { safe: '' };

function written(value: MarkupValue): string {
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  if (typeof value === 'number') return String(value);
  return 'safe' in value ? value.safe : value.map(({ safe }) => safe).join('');
}
