import type { Place } from '../../fields/place.ts';

/** Messages stand in `input`, all else in `parameters`. */
export const place: Place = (field) => (field.startsWith('messages') ? `input.${field}` : `parameters.${field}`);
