import { z } from 'zod';

/** Characters of each part of a location. Longer parts are rejected with 400. */
const PART_CHARACTERS_MAX = 200;

const Part = z.string().max(PART_CHARACTERS_MAX).nullish();

/** Location of the end user, in the form that official clients of several interfaces send. */
export const UserLocation = z.object({
  type: z.literal('approximate').nullish(),
  city: Part,
  region: Part,
  country: Part,
  timezone: Part,
});

/** Formats a location as a hint for choosing search queries; undefined if it names no place. */
export function formatLocationHint(location: z.output<typeof UserLocation> | null | undefined): string | undefined {
  const { city, region, country, timezone } = location ?? {};
  const names = [city, region, country].filter((name) => typeof name === 'string' && name.trim() !== '').join(', ');
  const zone = timezone?.trim() ? `time zone ${timezone}` : '';
  const where = [names, zone].filter((part) => part !== '').join(', ');
  return where === '' ? undefined : `The user is near: ${where.toWellFormed()}.`;
}
