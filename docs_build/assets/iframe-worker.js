// Browsers refuse to start a worker for a page that is opened as a file. There, run its script in a hidden frame, so that
// search works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.appendChild(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((resolve, reject) => {
        const script = scope.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        scope.document.head.appendChild(script);
      });
      this.scope = scope;
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.scope.frameElement.remove();
    }
  };
}
