import type { RegionId } from '../../core/region.ts';

/** Created by migration 0013: uploads whose bytes arrive in parts. Times are UTC milliseconds. */
export interface UploadsTable {
  id: string;
  region: RegionId;
  workspace: string;
  key_id: string;
  name: string;
  purpose: string;
  /** Size of the whole file, as the client declared it. */
  size_bytes: number;
  status: 'pending' | 'completed' | 'cancelled';
  created_at: number;
  expires_at: number;
  /** ID of the file; null until the upload is completed. */
  file_id: string | null;
}

/** Created by migration 0013: parts of pending uploads. The bytes of a part are a reservation in `files`. */
export interface UploadPartsTable {
  id: string;
  upload_id: string;
  /** Name of the part's bytes in the blob store. */
  blob: string;
  size_bytes: number;
  created_at: number;
}
