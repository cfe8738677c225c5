import type { Rendering } from './rendering.ts';
import { Markup, type Value } from './values.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** Escapes a text. A stand-in whose original has no entity stays. */
export const escapeHtml = (rendering: Rendering, text: string): string =>
  Array.from(text, (character) => ENTITIES[rendering.restore(character)] ?? character).join('');

/** Returns safe HTML of a text: its own when it is marked as safe. */
export const toMarkup = (rendering: Rendering, value: string | Markup): string =>
  typeof value === 'string' ? escapeHtml(rendering, value) : value.text;

/** Returns a text of the same kind as the value: safe HTML stays safe. */
export const likeValue = (value: Value, text: string): Value => (value instanceof Markup ? new Markup(text) : text);
