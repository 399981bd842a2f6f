classdef (Sealed = true, ...
        HandleCompatible) Buoy < handle & ...
        matlab.mixin.SetGet
    %BUOY  Floats and reports.
    %   See also Pendulum.

    properties (Access = public, SetObservable)
        Name string = "buoy" % its name
        Position (1, 2) double {mustBeReal, mustBeFinite} = [0 0]
        Log = struct('time', {}, 'height', {})
        Callback function_handle = @(x) x
    end
    properties (Constant, Hidden), LIMIT = 10; end
    properties (GetAccess = private)
        Battery = 100;
        Readings = [1, 2, ...
            3]
    end
    properties (Dependent)
        Charge
    end

    events (NotifyAccess = private)
        Drifted
        Charged, Lost
    end

    methods
        function self = Buoy(name, options)
            arguments
                name (1, 1) string
                options.Depth (1, 1) double = 5
                options.?Buoy
            end
            self@handle();
            self.Name = name;
        end

        function delete(self)
            disp("deleted " + self.Name);
        end

        function value = get.Charge(self), value = self.Battery / 100; end
        function set.Charge(self, value)
            self.Battery = value * 100;
        end

        function result = plus(first, second)
            result = Buoy(first.Name + second.Name);
        end

        function varargout = subsref(self, s)
            switch s(1).type
                case '()'
                    varargout{1} = self.Log(s(1).subs{:});
                otherwise
                    [varargout{1:nargout}] = builtin('subsref', self, s);
            end
        end
    end

    methods (Abstract)
        drift(self, wind)
        speed = measure(self)
    end

    methods (Static, Access = protected)
        function obj = loadobj(s)
            if isstruct(s)
                obj = Buoy(s.Name);
            else
                obj = s;
            end
        end
        out = inAnotherFile(in)
    end

    methods (Test, TestTags = {'Fast'})
        function testCharge(testCase)
            testCase.verifyEqual(Buoy("a").Charge, 1);
        end
    end

    enumeration
        North (1)
        South (2)
    end
end
