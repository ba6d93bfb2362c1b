// What a browser keeps for its reader. It may not allow that, and then nothing is kept.

/** @param {string} key */
export function stored(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

/**
 * @param {string} key
 * @param {string | null} value null to keep nothing
 */
export function store(key, value) {
    try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        // It stays as it is while the page is open.
    }
}
