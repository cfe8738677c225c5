/** Supported regions and their display names. */
export const REGIONS = {
  'cn-beijing': 'China (Beijing)',
  'ap-southeast-1': 'Singapore',
  'us-east-1': 'US (Virginia)',
  'cn-hongkong': 'China (Hong Kong)',
  'eu-central-1': 'Germany (Frankfurt)',
} as const;

export type RegionId = keyof typeof REGIONS;

/** Region of a service whose configuration names none. */
export const DEFAULT_REGION: RegionId = 'cn-beijing';

export const REGION_IDS = Object.keys(REGIONS) as RegionId[];

export const isRegionId = (text: string): text is RegionId => Object.hasOwn(REGIONS, text);

/** Formats a region for messages, e.g. `China (Beijing) (cn-beijing)`. */
export const formatRegion = (id: RegionId): string => `${REGIONS[id]} (${id})`;
