/**
 * Makes something once for all who ask for it by the same key, and keeps the last `most` of them. What failed is made anew for
 * whoever asks next.
 */
export function openRecent<T>(most: number): (key: string, make: () => Promise<T>) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return async (key, make) => {
    const found = known.get(key) ?? make();
    known.delete(key);
    known.set(key, found);
    const [oldest] = known.keys();
    if (known.size > most && oldest !== undefined) known.delete(oldest);
    try {
      return await found;
    } catch (error) {
      known.delete(key);
      throw error;
    }
  };
}
