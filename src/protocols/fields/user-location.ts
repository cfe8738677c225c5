import { z } from 'zod';

/** Characters of one part of a place. Longer: 400. */
const PART_CHARACTERS_MAX = 200;

const Part = z.string().max(PART_CHARACTERS_MAX).nullish();

/** Where the caller's user is, as the official clients of several interfaces say it. */
export const UserLocation = z.object({
  type: z.literal('approximate').nullish(),
  city: Part,
  region: Part,
  country: Part,
  timezone: Part,
});

/** In words, for whoever decides what to search for; undefined where it names no place. */
export function locationHint(place: z.output<typeof UserLocation> | null | undefined): string | undefined {
  const { city, region, country, timezone } = place ?? {};
  const names = [city, region, country].filter((name) => typeof name === 'string' && name.trim() !== '').join(', ');
  const zone = timezone?.trim() ? `time zone ${timezone}` : '';
  const where = [names, zone].filter((part) => part !== '').join(', ');
  return where === '' ? undefined : `The user is near: ${where.toWellFormed()}.`;
}
