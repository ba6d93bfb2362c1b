// Fetches the screen of the address while the frame around it is still on its way.

import { screenAt } from "./router.js";

screenAt(location.pathname)?.load().catch(() => {
    // The frame asks for it again, and says what is wrong.
});
